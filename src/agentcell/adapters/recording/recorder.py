"""What a session was told about recording, to the models that it asks."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from agentcell.adapters.model import Model
from agentcell.adapters.recording.file import Recording
from agentcell.adapters.recording.model import MODES, RecordingModel
from agentcell.errors import CellError

MODE_VARIABLE = "AGENTCELL_MODE"
"""Wins over what a notebook says, so that whoever runs it decides: CI replays, authors record."""

FILE_VARIABLE = "AGENTCELL_RECORDING"
"""The recording where the notebook names none."""


class Recorder:
    """Puts a recording round models, as long as one is in use. Safe to share between threads."""

    def __init__(self) -> None:
        self._named: Path | None = None
        self._recording: Recording | None = None
        self._mode: str | None = None
        self._timing = False
        self._made: dict[int, tuple[Model, RecordingModel]] = {}
        self._lock = threading.Lock()
        self.usual_file: Path | None = None
        """The file where nobody names one."""
        self.chosen_file: Path | None = None
        """The file that configuration names, where the notebook names none."""
        self.usual_mode = "off"
        """The mode where neither says one."""

    def use(self, path: str | os.PathLike[str] | None, mode: str, *, timing: bool = False) -> None:
        """Record into a file, or replay from it, from now on.

        Parameters
        ----------
        path
            None: the one in use, else what configuration, the environment or the notebook's own
            name says.
        mode
            One of `MODES`; ``off`` ends it.
        timing
            Whether a replayed answer takes the time that it took.

        Raises
        ------
        CellError
            If there is no such mode, or no file.
        """
        mode = checked_mode(mode)
        with self._lock:
            self._made.clear()
            self._mode, self._timing = mode, timing
            if path is not None or mode == "off":
                self._named = None if path is None else Path(path)
                self._recording = None
            if mode != "off":
                self._opened()

    @property
    def mode(self) -> str:
        """What holds now: the environment's word, else the notebook's.

        The environment decides only where a file is known, not for every session of a program.
        """
        wanted = os.environ.get(MODE_VARIABLE, "").strip().lower()
        if wanted and checked_mode(wanted, MODE_VARIABLE) and self.file is not None:
            return wanted
        return self._mode or self.usual_mode

    @property
    def file(self) -> Path | None:
        """The file that would be used, whatever mode holds now; None: none is known."""
        named = os.environ.get(FILE_VARIABLE, "").strip()
        chosen = self._named or self.chosen_file
        return chosen or (Path(named) if named else self.usual_file)

    @property
    def recording(self) -> Recording | None:
        """The file in use; None where nothing is recorded or replayed."""
        if self.mode == "off":
            return None
        with self._lock:
            return self._opened()

    def around(self, model: Model) -> Model:
        """Return the model to ask in the place of `model`: itself where recording is off."""
        recording, mode = self.recording, self.mode
        if recording is None or isinstance(model, RecordingModel):
            return model
        with self._lock:
            _, made = self._made.get(id(model), (None, None))
            if made is None or (made.mode, made.recording) != (mode, recording):
                made = RecordingModel(model, recording, mode, timing=self._timing)
                self._made[id(model)] = (model, made)
            return made

    def _opened(self) -> Recording:
        """Return the file's recording, the same as long as the file is the same."""
        place = self.file
        if place is None:
            raise CellError(
                "No file of a recording is named, and this notebook's own name is not known.",
                fix="name one, for example recordings/tutorial.jsonl.",
            )
        if self._recording is None or self._recording.path != place:
            self._recording = Recording(place)
        return self._recording


def checked_mode(mode: str, where: str = "The recording's mode") -> str:
    """Return `mode` if there is one of that name.

    Raises
    ------
    CellError
        Naming `where` it was given.
    """
    if mode not in MODES:
        raise CellError(
            f"{where} is {mode[:40]!r}; one of {', '.join(MODES)} was expected.",
            fix=f"use one of these, or unset {MODE_VARIABLE}.",
        )
    return mode
