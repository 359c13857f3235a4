"""Behaviour of a peer, observed: no case is without a test."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from oracle_kit import CASES, COVERED


def test_every_case_has_a_test() -> None:
    for file in Path(__file__).parent.glob("test_oracle_*.py"):
        import_module(file.stem)

    assert CASES.keys() == COVERED
