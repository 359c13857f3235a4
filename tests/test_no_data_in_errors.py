"""Services repeat in errors what they were sent; pictures and keys in it are told to nobody."""

from __future__ import annotations

import base64
import json

import pytest

from agentcell.adapters.failures import Origin, from_answer, from_event
from agentcell.adapters.redaction import REMOVED, redacted, without_data

DATA = base64.b64encode(bytes(range(256))).decode()

ORIGIN = Origin(provider="openai", model="gpt-6-sol", key="a-key-of-mine-0123456789")


PATH = "see /a/very/long/path" + "/of/folders" * 12


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"Bad: 'data:image/png;base64,{DATA}'.", "Bad: 'data:image/png;base64,…'."),
        (f"DATA:image/PNG;base64,{DATA}", "DATA:image/PNG;base64,…"),
        (f"not base64: {DATA} (at 7)", "not base64: … (at 7)"),
        ("x" * 200, "x" * 200),
        (PATH, PATH),
    ],
)
def test_a_picture_in_a_services_words_is_left_out(said: str, shown: str) -> None:
    answered = from_answer(ORIGIN, 400, {}, json.dumps({"error": {"message": said}}))
    broken = from_event(ORIGIN, {"message": said})

    assert without_data(said) == shown
    assert shown in answered.problem
    assert shown in broken.problem
    assert DATA[:40] not in str(answered) + str(broken)


def test_what_was_taken_out_once_reads_the_same_when_it_is_taken_out_again() -> None:
    once = redacted("https://x.example/y.png?X-Amz-Signature=abcdef0123456789 failed to download")

    assert once == f"https://x.example/y.png?X-Amz-Signature={REMOVED} failed to download"
    assert redacted(once) == once
