"""The files of a panel's page -> the one text of JavaScript, and of CSS, that anywidget takes.

There is no bundler: `panel.js` and `files.js` are put before a panel's own file, so that their
functions are there by their names. Its rules of style come before the panel's own in the same way.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_SCRIPTS = ("panel.js", "files.js")

_COMMENT_LINE = re.compile(r"^\s*//.*\n", re.MULTILINE)
_CSS_COMMENT = re.compile(r"/\*.*?\*/\n?", re.DOTALL)
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_EMPTY_LINE = re.compile(r"\n{2,}")
_RULE_BREAK = re.compile(r"(?<=[{};,])\n")
_JS_BREAK = re.compile(r"(?<=[{;,(\[])\n")
_JS_STRING = re.compile(r'("(?:[^"\\]|\\.)*")')
_JS_BLANK = re.compile(r" ?([=(){}\[\];,:?<>&|]) ?")
_CSS_BLANK = re.compile(r"(?<=[:,]) | (?=[{>])|(?<=[>]) |;(?=\})")


def esm(module: str, *names: str) -> str:
    """Return what the page runs: what all panels share, then the panel's own files.

    Lines of comment, indents and needless blanks are left out: a notebook may keep the text once
    for each panel.

    Parameters
    ----------
    module
        The panel's ``__file__``.
    names
        Of its files, in order; the last ends with ``export default { render };``.
    """
    joined = "\n".join([*map(_shared, _SCRIPTS), *_read(module, names)])
    return _JS_BREAK.sub("", "\n".join(map(_tight, joined.split("\n"))))


def css(module: str, *names: str) -> str:
    """Return the panel's style: `panel.css`, then the panel's own files.

    Parameters
    ----------
    module, names
        As for `esm`.
    """
    joined = "\n".join([_shared("panel.css"), *_read(module, names)])
    return _CSS_BLANK.sub("", _RULE_BREAK.sub("", joined))


def _read(module: str, names: tuple[str, ...]) -> list[str]:
    return [_short((Path(module).parent / name).read_text(encoding="utf-8")) for name in names]


def _tight(line: str) -> str:
    """Return a line of JavaScript without the blanks that only eyes need."""
    if "/" in line or "`" in line or "'" in line:  # perhaps a regular expression, or a text
        return line
    pieces = _JS_STRING.split(line)
    pieces[::2] = [_JS_BLANK.sub(r"\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


@cache
def _shared(name: str) -> str:
    return _short((_HERE / name).read_text(encoding="utf-8"))


def _short(text: str) -> str:
    bare = _INDENT.sub("", _CSS_COMMENT.sub("", _COMMENT_LINE.sub("", text)))
    return _EMPTY_LINE.sub("\n", bare)
