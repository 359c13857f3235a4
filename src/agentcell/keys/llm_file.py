"""The keys that the command-line tool `llm` keeps, by the names it gives them. Read, never written.

Its file is ``keys.json`` in ``LLM_USER_PATH``, else in the folder that its command-line library
gives to an application of that name (https://llm.datasette.io/en/stable/setup.html and
https://click.palletsprojects.com/en/stable/api/#click.get_app_dir, read 2026-11-30).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

NAMES = {
    "OPENAI_API_KEY": ("openai",),
    "ANTHROPIC_API_KEY": ("anthropic", "claude"),
    "GEMINI_API_KEY": ("gemini",),
}
"""The names that `llm` and its plug-ins for these services give to a key, by ours."""

_FOLDER = "io.datasette.llm"
_LARGEST = 1_000_000
"""Bytes of a file that may be one of keys."""

_read: tuple[tuple[str, int, int], dict[str, str]] | None = None


def path() -> Path | None:
    """Return where `llm` keeps its keys on this machine; None where there is no home."""
    try:
        if chosen := os.environ.get("LLM_USER_PATH", "").strip():
            return Path(chosen).expanduser() / "keys.json"
        if sys.platform == "win32":
            base = Path(os.environ.get("APPDATA") or Path.home())
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Application Support"
        else:
            base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config").expanduser()
    except RuntimeError:
        return None
    return base / _FOLDER / "keys.json"


def kept() -> dict[str, str]:
    """Return all keys of the file by `llm`'s names; none where it cannot be read.

    The file is read again only after a change: to ask costs a few microseconds.
    """
    global _read  # noqa: PLW0603 (one file for the process)
    place = path()
    if place is None:
        return {}
    try:
        facts = place.stat()
        seen = (str(place), facts.st_mtime_ns, facts.st_size)
        if _read is not None and _read[0] == seen:
            return _read[1]
        found = json.loads(place.read_text(encoding="utf-8")) if facts.st_size < _LARGEST else {}
    except (OSError, ValueError, RecursionError):
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    texts = {name: key.strip() for name, key in entries if isinstance(key, str)}
    # The file begins with a note for people, under a name that is no key's.
    named = {name: key for name, key in texts.items() if key and not name.startswith("//")}
    _read = (seen, named)
    return named


def key_for(variable: str) -> str:
    """Return `llm`'s key for what `variable` stands for; empty if it has none."""
    names = NAMES.get(variable, ())
    found = kept() if names else {}
    return next((found[name] for name in names if found.get(name)), "")
