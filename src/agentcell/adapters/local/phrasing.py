"""A question and the value that answers it → a request for one short English sentence.

Three examples teach it as well as six (69 and 70 of 79 sentences passed the guard), and are read
in half the time.

The model only words the sentence. A grammar lets it write small words, words of the question and
the value as it stands; it has no way to write another number or name.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agentcell.messages import Message

MAX_TOKENS = 64
"""A longer sentence says more than was asked, and is not shown anyway."""

_MOST_WORDS = 8
"""Words before the value."""

_EXAMPLES = (
    ("What is the total?", "12.40", "The total is 12.40."),
    ("Which shop is it from?", "Corner Bakery Ltd", "It is from Corner Bakery Ltd."),
    ("By when must I reply?", "5 Jan 2024", "You must reply by 5 Jan 2024."),
)

_JOINT = re.compile(r"\b(?:is|was|are|were|be|on|by|at|from|called|named|costs?|due|for)$")
"""What may stand just before the value."""

_LONG_WORD = 4
_OF_ONE = re.compile(r"\b(?:one|each|single|apiece|per)\b", re.IGNORECASE)


def opening() -> list[Message]:
    """Return the messages that stand before every question: the server keeps them read."""
    messages: list[Message] = [
        {"role": "system", "content": "Write the answer as one short sentence."}
    ]
    for question, value, sentence in _EXAMPLES:
        messages.append({"role": "user", "content": _ask(question, value)})
        messages.append({"role": "assistant", "content": sentence})
    return messages


def phrase_request(question: str, value: str) -> dict[str, Any]:
    """Return the body of the chat request for a sentence that says `value`."""
    return {
        "messages": [*opening(), {"role": "user", "content": _ask(question, value)}],
        "max_tokens": MAX_TOKENS,
        "temperature": 0.0,
        "grammar": grammar(question, value),
    }


def grammar(question: str, value: str) -> str:
    """Return a GBNF grammar of the sentences that end in `value`.

    Names, numbers and codes of the question may be said again; all other words are small.
    """
    asked = re.findall(r"[^\s?!.,;:\"“”()]+", question)[1:]
    special = dict.fromkeys(word for word in asked if not re.fullmatch(r"[a-z]+(?:-[a-z]+)*", word))
    words = ["[a-z]+ (" + _literal("-") + " [a-z]+)?", *map(_literal, special)]
    end = "" if value.endswith(".") else f" {_literal('.')}"
    return "\n".join(
        (
            f'root ::= first (" " word){{0,{_MOST_WORDS}}} " " value{end}',
            "first ::= [A-Z] [a-z]*",
            f"word ::= {' | '.join(words)}",
            f"value ::= {_literal(value)}",
        )
    )


def is_sound(sentence: str, value: str, question: str) -> bool:
    """Tell whether `sentence` is built as an answer: no "a promotion of -$5.00" and the like.

    A question about one of several, whose line gives the price of all, is not put in a sentence.
    """
    before = sentence.removesuffix(".").removesuffix(value.removesuffix(".")).strip().lower()
    words = re.findall(r"[a-z]+", before)
    long_words = [word for word in words if len(word) >= _LONG_WORD]
    return (
        bool(_JOINT.search(before))
        and len(long_words) == len(set(long_words))
        and not _OF_ONE.search(question)
    )


def _ask(question: str, value: str) -> str:
    return f"Question: {question}\nAnswer: {value}"


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
