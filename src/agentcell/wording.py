"""An English sentence with its facts, to the same sentence in the reader's language.

Every text that the magics and the panels show passes through `say` or `word`. The English sentence
is the key, so a language that lacks one shows it in English. Whoever shows texts adds their own
table; another language is a dict and one call::

    from agentcell.wording import add_language

    add_language("fr", {"Nothing is attached yet.": "Rien n'est joint pour l'instant."})

Model names, tags, numbers, units, commands and whatever a model, a service or a person wrote stay
as they are. Errors keep their English sentence, which one can search for; only what stands before
the way out (``Fix:``) is translated.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Mapping

AUTO = "auto"
VARIABLE = "AGENTCELL_LANGUAGE"

_tables: dict[str, Mapping[str, str]] = {"en": {}}
_chosen = AUTO


def say(template: str, /, **facts: object) -> str:
    """Return a sentence in the language of the reader.

    Parameters
    ----------
    template
        In English, with names in braces.
    facts
        What stands for the names.
    """
    table = _tables.get(language(), {})
    return table.get(template, template).format(**facts)


def word(text: str) -> str:
    """Return a sentence without names in braces, or whatever else it is as it is.

    Parameters
    ----------
    text
        In English.
    """
    return _tables.get(language(), {}).get(text, text)


def language() -> str:
    """Return the language that holds: the chosen one, or by the kernel's environment."""
    wanted = _chosen if _chosen != AUTO else os.environ.get(VARIABLE, "").strip() or AUTO
    if wanted != AUTO:
        return _known(wanted) or "en"
    if os.environ.get("PYTEST_CURRENT_TEST"):  # outputs are compared with those that were saved
        return "en"
    return next(filter(None, map(_known, _locales())), "en")


def languages() -> tuple[str, ...]:
    """Return the names of all languages there are."""
    return tuple(sorted(_tables))


def choose(name: str) -> None:
    """Set the language of this kernel's cells.

    Parameters
    ----------
    name
        One of `languages`, or ``auto``: by the environment's ``LANGUAGE``, ``LC_ALL``,
        ``LC_MESSAGES`` and ``LANG``.

    Raises
    ------
    ValueError
        If there is no such language.
    """
    global _chosen  # noqa: PLW0603 (one reader, one kernel)
    if name != AUTO and _known(name) is None:
        raise ValueError(
            f"There is no language {name!r}; there are {AUTO}, {', '.join(languages())}."
        )
    _chosen = name


def add_language(name: str, sentences: Mapping[str, str]) -> None:
    """Add a language, or sentences to one.

    Parameters
    ----------
    name
        As in a locale: ``fr``, ``pt_BR``.
    sentences
        English templates with their translations, which hold the same names in braces.

    Raises
    ------
    ValueError
        If a translation holds other names than its template.
    """
    for template, said in sentences.items():
        if placeholders(template) != placeholders(said):
            raise ValueError(f"{said!r} must hold the same names in braces as {template!r}.")
    key = _normal(name)
    _tables[key] = {**_tables.get(key, {}), **sentences}


def placeholders(template: str) -> set[str]:
    """Return the names in braces.

    Parameters
    ----------
    template
        A sentence of a language.
    """
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def _locales() -> list[str]:
    """Return what the environment asks for, in order, as gettext reads it."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((value for name in names if (value := os.environ.get(name, "").strip())), "")
    if locale in {"C", "POSIX"}:
        return []
    return [*os.environ.get("LANGUAGE", "").split(":"), locale]


def _known(name: str) -> str | None:
    """Return the table for a locale such as ``zh_CN.UTF-8``, if there is one."""
    full = _normal(name)
    return next((key for key in (full, full.partition("_")[0]) if key in _tables), None)


def _normal(name: str) -> str:
    return re.split(r"[.@]", name.strip().lower().replace("-", "_"), maxsplit=1)[0]
