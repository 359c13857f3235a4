"""A prompt for pictures or a clip → files on disk, by the session's ledger, budget and rules."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from agentcell.budget import Confirm
from agentcell.imaging.events import made_of
from agentcell.imaging.generation import Generation
from agentcell.imaging.jobs import FILE, JobLedger
from agentcell.interrupting import calmly
from agentcell.loop import LOOP
from agentcell.session.past import Past

if TYPE_CHECKING:
    from agentcell.imaging.generating import Generator

_lock = threading.Lock()

_WHERE_IT_IS = "look at session.generator.jobs(): one that was sent may be paid for, and resumed."


class Making(Past):
    """A session's pictures and clips; see `Session`."""

    _generator: Generator | None = None

    @property
    def generator(self) -> Generator:
        """What makes this session's pictures and clips; made at its first use."""
        from agentcell.imaging.generating import Generator
        from agentcell.session.paying import SessionTill

        with _lock:
            if self._generator is None:
                folder = self.history.folder or self.access.root / ".agentcell"
                self._generator = Generator(
                    # Also where turns are kept in memory: who pays must be able to look later.
                    ledger=JobLedger(folder / FILE),
                    access=self.access,
                    till=SessionTill(self._ledger, lambda: self.budget),
                    recorder=self.recorder,
                    changed=self._changed,
                )
            return self._generator

    def generate(
        self,
        prompt: str,
        *,
        confirm: Confirm | None = None,
        output: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Generation:
        """Make pictures or a clip, and return what came of it.

        Parameters
        ----------
        prompt
            What is to be seen.
        confirm, output
            See `Generator.stream`.
        options
            The fields of a `GenerationWish`: ``model, count, size, references, …``. A reference or
            a mask may be a path, an asset, or anything else that is a picture.

        Raises
        ------
        GenerationError, AttachmentError
            If it cannot be made as it is asked for. Nothing was sent.
        BudgetExceeded, Stopped
            If it may not be paid for. Nothing was sent.
        ModelError
            If the service refuses or fails.
        Interrupted
            Of a `KeyboardInterrupt`; the job is in the ledger.

        Examples
        --------
        >>> fox = session.generate("a red fox", model="procedural")  # doctest: +SKIP
        >>> fox.paths  # doctest: +SKIP
        """
        with calmly("as you asked.", fix=_WHERE_IT_IS):
            return LOOP.run(self.agenerate(prompt, confirm=confirm, output=output, **options))

    async def agenerate(
        self,
        prompt: str,
        *,
        confirm: Confirm | None = None,
        output: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Generation:
        """Like `generate`, without blocking the loop.

        Parameters
        ----------
        prompt, confirm, output, options
            As for `generate`.
        """
        from agentcell.imaging.pictures import as_wish

        wish = as_wish(prompt, options)
        return await made_of(self.generator.stream(wish, confirm=confirm, output=output))
