"""What pytest loads of agentcell: the mode of recordings, and a fixture that records a test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentcell.adapters.model import Model
    from agentcell.adapters.recording import RecordingModel

_VARIABLE = "AGENTCELL_MODE"
_MODES = ("off", "record", "rerecord", "replay", "auto")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--agentcell-mode``."""
    parser.getgroup("agentcell").addoption(
        "--agentcell-mode",
        choices=_MODES,
        help="what recordings of answers do in this run and in the kernels that it starts",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let the mode hold for the run: kernels inherit the environment."""
    if mode := config.getoption("--agentcell-mode"):
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = mode

        def put_back() -> None:
            if before is None:
                os.environ.pop(_VARIABLE, None)
            else:
                os.environ[_VARIABLE] = before

        config.add_cleanup(put_back)


@pytest.fixture
def agentcell_recording(
    request: pytest.FixtureRequest,
) -> Callable[[Model | str], RecordingModel]:
    """Return a function that puts a recording round a model, or round the model of a name.

    The file is ``recordings/<test file>.jsonl`` beside the test's own; the mode is that of
    ``--agentcell-mode`` or ``AGENTCELL_MODE``, else ``replay``.
    """
    from agentcell.adapters.recording import Recording, RecordingModel

    test = Path(str(request.path))
    recording = Recording(test.parent / "recordings" / f"{test.stem}.jsonl")

    def recorded(model: Model | str) -> RecordingModel:
        return RecordingModel(model, recording, os.environ.get(_VARIABLE) or "replay")

    return recorded
