"""What the magics say, in Chinese."""

from __future__ import annotations

from typing import Final

ZH: Final[dict[str, str]] = {}
