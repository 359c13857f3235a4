"""Every block of docs/media_service.md runs as written, against a service on loopback."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

TEXT = (Path(__file__).parent.parent / "docs" / "media_service.md").read_text(encoding="utf-8")


def test_the_page_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)

    async def run() -> None:
        for block in blocks:
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            ran = eval(compile(block, "docs/media_service.md", "exec", flags), space)  # noqa: S307 (our page)
            if inspect.isawaitable(ran):
                await ran

    asyncio.run(run())

    assert len(blocks) == 4
    assert "1 file made (request req-1" in capsys.readouterr().out
    assert space["server"].charged == 1
    assert len(space["server"].posts) == 1


def test_the_page_names_each_step_of_the_protocol() -> None:
    for way in ("POST /images", "POST /videos", "GET /requests/ID", "GET /models", "DELETE"):
        assert way in TEXT
