"""A text, to the strings in it that are shaped as services make their keys.

Words, placeholders, digests and encoded pictures are none: a match stands alone, is long enough,
and is as mixed as what chance makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_BEFORE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
"""What stands before a key: no letter, unless it belongs to an escape."""

_AFTER = r"(?![A-Za-z0-9_-])"

# As the services and GitHub's list of secrets describe them
# (https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns,
# read 2026-11-30), with lengths that also fit what they made before.
_SHAPES = (
    ("Anthropic key", ("sk-ant-",), r"[A-Za-z0-9_-]{20,}"),
    ("OpenAI key", ("sk-",), r"(?!ant-)[A-Za-z0-9_-]{20,}"),
    ("Google key", ("AIza",), r"[A-Za-z0-9_-]{35}"),
    ("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{36,}"),
    ("GitHub token", ("github_pat_",), r"[A-Za-z0-9_]{40,}"),
    ("Hugging Face token", ("hf_",), r"[A-Za-z0-9]{30,}"),
    ("AWS key id", ("AKIA", "ASIA"), r"(?<!Credential=....)(?<!KeyId=....)[A-Z0-9]{16}"),
    ("Groq key", ("gsk_",), r"[A-Za-z0-9]{32,}"),
    ("xAI key", ("xai-",), r"[A-Za-z0-9]{32,}"),
    ("Perplexity key", ("pplx-",), r"[A-Za-z0-9]{32,}"),
    ("NVIDIA key", ("nvapi-",), r"[A-Za-z0-9_-]{40,}"),
    ("Replicate token", ("r8_",), r"[A-Za-z0-9]{32,}"),
    ("Slack token", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-"), r"[A-Za-z0-9-]{20,}"),
    ("Stripe key", ("sk_live_", "rk_live_"), r"[A-Za-z0-9]{20,}"),
    ("GitLab token", ("glpat-",), r"[A-Za-z0-9_-]{20,}"),
)
"""Whose it is, how it begins, and what follows. An address that was signed for a while names its
signer in the open: that is no key to hide."""


@cache
def _compiled(begin: str, follows: str) -> re.Pattern[str]:
    return re.compile(_BEFORE + begin + follows + _AFTER, re.ASCII)


PREFIXES = (
    *("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", "sk-or-v1-"),
    *("sk-ant-api03-", "sk-ant-admin01-", "sk-ant-oat01-", "sk-ant-", "sk-"),
    *("AIzaSy", "AIza", "github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "hf_"),
    *("AKIA", "ASIA", "gsk_", "xai-", "pplx-", "nvapi-", "r8_", "glpat-"),
    *("xoxb-", "xoxp-", "xoxa-", "sk_live_", "rk_live_"),
)
"""How keys begin; no secret, longest first where one begins with another."""

_STAND_INS = re.compile(
    r"example|placeholder|changeme|dummy|redacted|removed|your|xxxx|\.\.\.|…|\*\*\*"
    r"|<|>|\{|\}",
    re.IGNORECASE,
)

_LEAST_DISTINCT = 9
"""Different characters in the secret part of a key: chance makes more, a placeholder fewer."""

_LEAST_PIECE = 14
"""Characters of a key's longest piece between hyphens: names are made of words."""

_LONGEST_NAME = 60
"""Characters beyond which a mixed text is no name of words and numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A place in a text that looks like a key, without the key.

    Parameters
    ----------
    kind
        Whose key it looks like, for example ``OpenAI key``.
    start, end
        Where it stands, in characters.
    """

    kind: str
    start: int
    end: int


def shapes(text: str) -> Iterator[Shape]:
    """Yield what is shaped like a key in `text`. Texts without one cost a search for each kind."""
    for kind, begins, follows in _SHAPES:
        for begin in begins:
            place = text.find(begin)
            while place >= 0:
                match = _compiled(begin, follows).match(text, place)
                if match is not None and looks_random(match.group()):
                    yield Shape(kind=kind, start=place, end=match.end())
                place = text.find(begin, match.end() if match else place + 1)


def is_placeholder(value: str) -> bool:
    """Whether `value` plainly stands for a key that people put in its place."""
    secret = without_prefix(value)
    return _STAND_INS.search(secret) is not None or len(set(secret)) < _LEAST_DISTINCT // 2


def looks_random(value: str) -> bool:
    """Whether `value` is mixed as chance mixes, and no words, placeholder or counting."""
    secret = without_prefix(value)
    if is_placeholder(value) or len(set(secret)) < _LEAST_DISTINCT or not _is_mixed(secret):
        return False
    pieces = re.split(r"[-_.]", secret)
    return len(secret) > _LONGEST_NAME or any(
        len(piece) >= _LEAST_PIECE and _is_mixed(piece) for piece in pieces
    )


def _is_mixed(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def without_prefix(value: str) -> str:
    """Return `value` without the part that all keys of its kind begin with."""
    return next((value[len(known) :] for known in PREFIXES if value.startswith(known)), value)
