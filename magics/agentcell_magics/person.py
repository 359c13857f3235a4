"""A question with a choice of answers → what the person at the cell typed, if anybody is there."""

from __future__ import annotations

import builtins
import threading
from typing import Literal, TypeAlias

Said: TypeAlias = Literal["yes", "all", "no", "nobody"]

_MOST_ASKED = 3
_YES = {"y", "yes", "是", "好"}
_ALL = {"a", "all"}
_NO = {"", "n", "no", "否", "不"}


def ask_person(question: str, *, all_too: bool = False) -> Said:
    """Ask by the kernel's input, and return what was said; what is no answer at all is no.

    Parameters
    ----------
    question
        Ends with what may be typed.
    all_too
        Whether ``a`` (all) is an answer.

    Returns
    -------
    Said
        ``nobody`` where there is no input, such as under nbclient or in a test run, or where the
        caller is not the thread that the person waits for.
    """
    if threading.current_thread() is not threading.main_thread():
        return "nobody"
    for _ in range(_MOST_ASKED):
        try:
            answer = builtins.input(question).strip().casefold()
        except (EOFError, OSError, NotImplementedError, RuntimeError):
            return "nobody"
        if answer in _YES:
            return "yes"
        if all_too and answer in _ALL:
            return "all"
        if answer in _NO:
            break
    return "no"
