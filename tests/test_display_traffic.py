from __future__ import annotations

import pytest

from kernels import Kernel
from traffic import in_tokens, markdown, measured

CHINESE = "合计 83.00 元，谢谢惠顾。\n\n" * 200


@pytest.mark.parametrize("text", [markdown(15_000), markdown(8_000), CHINESE], ids=len)
def test_a_fast_answer_goes_over_the_channel_at_most_five_times_and_whole(
    kernel: Kernel, text: str
) -> None:
    got = measured(kernel, text, tokens=2_000, rate=1_000)

    assert got.ran.status == "ok"
    assert text in got.ran.data("text/plain")
    assert got.times <= 5  # every byte of the cell on the wire, its headers included
    assert 4 <= got.messages < 15 * got.seconds + 12


def test_a_slow_answer_is_shown_as_it_comes(kernel: Kernel) -> None:
    got = measured(kernel, markdown(900), tokens=120, rate=60)

    assert markdown(900) in got.ran.data("text/plain")
    assert got.messages > 6 * got.seconds
    assert got.messages < 15 * got.seconds + 12


def test_the_tokens_make_the_whole_text() -> None:
    tokens = in_tokens(markdown(15_000), 2_000)

    assert len(tokens) == 2_000
    assert "".join(tokens) == markdown(15_000)
