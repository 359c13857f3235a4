"""Reading the declared outputs from what a model wrote."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcell.agents.lenient import Lenient
from agentcell.agents.output import Malformed, read_answer, without_thoughts
from agentcell.prompts.fields import FieldSpec, normalize_field_specs
from promptly import PROMPTLY

ONE = normalize_field_specs({"answer": "答案"})


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"answer": "x"}', "x"),
        ('  {"answer": "x"}\n', "x"),
        ('```json\n{"answer": "x"}\n```', "x"),
        ('```\n{"answer": "x"}', "x"),
        ('Sure! {"answer": "x"} Anything else?', "x"),
        ('Use {braces} like {"a": 1}. {"answer": "x"}', "x"),
        ('{"note": "first"}\n{"answer": "x"}', "x"),
        ('{"answer": "x",}', "x"),
        ('{"answer": ["a", "b",],}', ["a", "b"]),
        ('{"answer": "x"', "x"),
        ('{"answer": {"a": [1, 2', {"a": [1, 2]}),
        ('{"answer": "two\nlines"}', "two\nlines"),
        ("{'answer': 'it\\'s'}", "it's"),
        ("{answer: True, other: None}", True),
        ('{"answer": "a" "b": 1}', "a"),
        ('{"answer": "\\(x\\)"}', r"\(x\)"),
        ('{"answer": "\\u00e9\\ud83d\\ude00" /* c */ } // end', "é😀"),
        ('{"answer": {}}', {}),
        ('{"answer": null}', None),
        ('{"answer": 12.50}', 12.5),
        ('{"Answer": "x"}', "x"),
        ('{" ANSWER ": "x"}', "x"),
        ('{"answer": "{}"}', "{}"),
        ('{"answer": "```json"}', "```json"),
        ('{“answer”: 1} {"answer": 2}', 2),
    ],
)
def test_an_answer_is_found_in_what_models_write(text: str, answer: Any) -> None:
    assert read_answer(text, ONE)["answer"] == answer


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("The total is 42.", "no JSON object"),
        ('["answer"]', "no JSON object"),
        ("{answer}", "no JSON object"),
        ('{"total": 1}', "lacks 'answer'"),
        ('{"answer": "He said "no" twice"}', "no JSON object"),
        ("{" * 100_000, ""),
        ('{"a":' * 100_000, ""),
        ("[" * 100_000, ""),
        ('{"answer": ' + "9" * 5_000 + "}", ""),
    ],
)
def test_what_is_no_answer_is_said_quickly(text: str, problem: str) -> None:
    began = time.perf_counter()

    with pytest.raises(Malformed, match=problem or ".*"):
        read_answer(text, ONE)

    assert time.perf_counter() - began < PROMPTLY


def test_a_required_output_may_not_be_empty() -> None:
    outputs = {"answer": FieldSpec("answer", required=True)}

    with pytest.raises(Malformed, match="lacks 'answer'"):
        read_answer('{"answer": null}', outputs)
    assert read_answer('{"answer": 0}', outputs) == {"answer": 0}


def test_further_keys_are_kept() -> None:
    assert read_answer('{"answer": 1, "why": {}}', ONE) == {"answer": 1, "why": {}}


@pytest.mark.parametrize("text", ['{"answer": "one, tw', '{"answer": "one", "more": ['])
def test_an_answer_that_was_cut_is_not_finished_by_guessing(text: str) -> None:
    with pytest.raises(Malformed, match="limit of its tokens") as caught:
        read_answer(text, ONE, "length")

    assert caught.value.final
    assert read_answer('{"answer": 1} and', ONE, "length") == {"answer": 1}


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>a</think>b", "b"),
        ("<thinking>\na {}\n</thinking>\n\nb", "b"),
        ("<think>a</think><think>c</think> b", "b"),
        ("a</think>b", "b"),
        ("<think>never closed", ""),
        ('{"answer": "<think>x</think>"}', '{"answer": "<think>x</think>"}'),
        ("no thoughts", "no thoughts"),
    ],
)
def test_thoughts_before_an_answer_are_left_out(text: str, rest: str) -> None:
    assert without_thoughts(text) == rest


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON, st.booleans())
def test_what_is_json_is_read_as_json(value: Any, plain: bool) -> None:
    text = json.dumps(value, ensure_ascii=plain, indent=1)

    reader = Lenient(text)

    assert reader.value() == value
    assert not reader.unfinished


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="{}[]\":,\\'abn1-. \n/*", max_size=40))
def test_any_text_gives_an_answer_or_says_why_not(text: str) -> None:
    try:
        out = read_answer(text, ONE)
    except Malformed:
        return
    assert "answer" in out
