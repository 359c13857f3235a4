"""What a service says of an upload or a file, to: try again, the file is gone, or an error."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from agentcell.adapters import failures
from agentcell.adapters.events import Retrying
from agentcell.adapters.failures import Origin
from agentcell.adapters.prepared import Prepared
from agentcell.adapters.upload_store import Upload
from agentcell.assets.asset import MediaAsset
from agentcell.errors import ModelError, TooLarge

_GONE = re.compile(
    r"not[ _]found|(?:not|n't) find|no such|no file|(?:not|n't) exist|expired|deleted|no longer",
    re.IGNORECASE,
)
"""How services say that a file is not there; Gemini: "You do not have permission to access the
File … or it may not exist" (github.com/googleapis/python-genai/issues/1218)."""

_FILE = re.compile(r"(?<![a-z])file", re.IGNORECASE)

_NEVER_GONE = {401, 402, 408, 409, 413, 429}
"""Statuses that say nothing of files."""

_ALWAYS_GONE = {404, 410}
"""Statuses that say it in whatever words."""

_SHORTEST_ID = 4
"""Characters; a shorter id may stand in a message by chance."""

T = TypeVar("T")


async def tried(
    work: Callable[[], Awaitable[T]],
    prepared: Prepared,
    tell: Callable[[Retrying], object] = lambda _: None,
) -> T:
    """Return what `work` returns; it is done again where the policy of `prepared` has it.

    Parameters
    ----------
    tell
        Called before each wait.

    Raises
    ------
    ModelError
        The last one, where there is to be no further attempt.
    """
    retries, waited = 0, 0.0
    while True:
        try:
            return await work()
        except ModelError as error:
            wait = prepared.policy.wait(error, retries, waited)
            if wait is None:
                raise
            reason = error.problem
        retries, waited = retries + 1, waited + wait
        tell(Retrying(retries + 1, wait, reason))
        await asyncio.sleep(wait)


def gone(error: ModelError, files: Sequence[Upload]) -> list[Upload]:
    """Return those of `files` that the service has no more, as `error` says; most often none.

    Where it names none of them but speaks of a file, it may mean each.
    """
    if error.status in _NEVER_GONE or (error.status or 400) >= 500:  # noqa: PLR2004
        return []
    named = [one for one in files if _names(error, one)]
    if not _GONE.search(error.problem):
        return named if error.status in _ALWAYS_GONE else []
    return named or (list(files) if _FILE.search(error.problem) else [])


def _names(error: ModelError, upload: Upload) -> bool:
    name = upload.file_id.rpartition("/")[2]
    return len(name) >= _SHORTEST_ID and name in error.problem


def about(error: ModelError, asset: MediaAsset, origin: Origin) -> ModelError:
    """Return `error` as one about the upload of `asset`."""
    told = copy.copy(error)
    name = failures.redacted(failures.one_line(asset.default_filename, 60), *origin.hidden)
    told.problem = f"{name} was not uploaded: {error.problem}"
    told.args = (told.problem,)
    if error.status in {404, 405, 501}:
        told.fix = 'make the model with upload="never"; this address keeps no files.'
    elif isinstance(error, TooLarge):
        told.fix = "attach a smaller copy, or one part of it."
    return told
