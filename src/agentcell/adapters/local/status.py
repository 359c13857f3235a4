"""What of the built-in reader is installed, found without importing any of it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from agentcell.adapters.local.weights import FETCH_COMMAND, SMOLLM2, installed_weights
from agentcell.errors import LocalModelMissing

RUNTIME_FIX = 'run `pip install "agentcell[local]"`.'
"""How to get the reader and the runtime."""

_OCR_ENGINES = {"faster_paddle": "faster-paddle", "rapidocr": "rapidocr"}
"""Modules and their packages, in the order in which the reader tries them."""


@dataclass(frozen=True, slots=True)
class LocalStatus:
    """What of the built-in reader is there.

    Parameters
    ----------
    ocr, runtime
        Package and version of what reads pictures and of what runs the model; None if missing.
    weights
        The model's file; None if missing.
    fixes
        One command for each thing that is missing.
    """

    ocr: str | None
    runtime: str | None
    weights: Path | None
    fixes: tuple[str, ...]


def local_status() -> LocalStatus:
    """Return what is installed. Light: nothing is imported, no large file is read."""
    ocr = next((found for module in _OCR_ENGINES if (found := _installed(module))), None)
    runtime = _installed("xllamacpp")
    weights = installed_weights()
    fixes = []
    if ocr is None or runtime is None:
        fixes.append('pip install "agentcell[local]"')
    if weights is None:
        fixes.append(FETCH_COMMAND)
    return LocalStatus(ocr, runtime, weights, tuple(fixes))


def missing_speaker(gguf: Path | None) -> LocalModelMissing | None:
    """Return the error that says why no sentence can be spoken; None if one can.

    Parameters
    ----------
    gguf
        The file of the user's own choice; None for the model that is fetched.
    """
    if gguf is not None and (problem := _no_model(gguf)):
        return problem
    runtime, weights = _installed("xllamacpp"), gguf or installed_weights()
    if runtime and weights:
        return None
    commands = ['`pip install "agentcell[local]"`'] if not runtime else []
    commands += [f"`{FETCH_COMMAND}`"] if not weights else []
    what = [] if runtime else ["its runtime, the package xllamacpp"]
    what += [] if weights else [f"its weights, {SMOLLM2.size_bytes / 1e6:.0f} MB"]
    return LocalModelMissing(
        f"The built-in model is not installed: {' and '.join(what)}.",
        fix=f"run {' and '.join(commands)}, or choose another model with `-m`.",
        provider="local",
        model=SMOLLM2.name,
    )


def _no_model(gguf: Path) -> LocalModelMissing | None:
    """Return what is wrong with a file that should be a GGUF model; None if nothing is seen."""
    problem = ""
    try:
        with gguf.open("rb") as file:
            if file.read(4) != b"GGUF":
                problem = f"{gguf} is no GGUF file; a model for llama.cpp was expected."
    except FileNotFoundError:
        problem = f"There is no model file {gguf}."
    except OSError as error:
        problem = f"{gguf} cannot be read as a model file: {(error.strerror or '').lower()}."
    if not problem:
        return None
    return LocalModelMissing(
        problem,
        fix="give the path of a .gguf file, or use `-m local` for the built-in model.",
        provider="local",
        model=str(gguf),
    )


def _installed(module: str) -> str | None:
    """Return "package version" if `module` can be imported, without importing it."""
    try:
        if importlib.util.find_spec(module) is None:
            return None
    except (ImportError, ValueError):
        return None
    package = _OCR_ENGINES.get(module, module)
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return package
