"""What happens in one run → its records, also in the store, as long as that takes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentcell.errors import HistoryWarning
from agentcell.runner.trace import TraceStore
from agentcell.runner.trace_record import Recorder, digest_of
from agentcell.warned import warn


class RunTrace:
    """The records of one run.

    Parameters
    ----------
    store
        Where they are kept; one that fails is told of once, and asked no more.
    trace_id
        The run's name there.
    secrets
        Keys that this process does not know otherwise.
    """

    def __init__(self, store: TraceStore, trace_id: str, secrets: Iterable[str]) -> None:
        self.records: list[dict[str, Any]] = []
        self._store = store
        self._id = trace_id
        self._recorder = Recorder(self._put_media, secrets)
        self._is_kept = True

    def add(self, kind: str, **facts: Any) -> None:
        """Write a record.

        Parameters
        ----------
        kind
            Its type.
        facts
            Whatever it tells; media become digests, and keys nothing.
        """
        record: dict[str, Any] = {"n": len(self.records), "type": kind, "at": round(time.time(), 3)}
        record |= {name: self._recorder.value(value) for name, value in facts.items()}
        self.records.append(record)
        self._keep(lambda: self._store.append(self._id, record))

    def message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message as a record holds it."""
        return self._recorder.message(message)

    def text(self, text: str) -> str:
        """Return a text without keys and files."""
        return self._recorder.text(text)

    def _put_media(self, data: bytes, kind: str) -> str:
        self._keep(lambda: self._store.put_media(data, kind))
        return digest_of(data)

    def _keep(self, keep: Callable[[], Any]) -> None:
        if not self._is_kept:
            return
        try:
            keep()
        except Exception as error:  # noqa: BLE001 (a store of anyone's may raise anything)
            self._is_kept = False
            said = f"The run's trace is not kept from here on: {error}"
            warn(said, HistoryWarning)
