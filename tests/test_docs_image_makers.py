"""Every block of docs/image_makers.md runs as written, without a key."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agentcell.adapters.pricing import forget_price
from agentcell.imaging.choosing import BUILT_IN, GROUP, MODEL_VARIABLES

TEXT = (Path(__file__).parent.parent / "docs" / "image_makers.md").read_text(encoding="utf-8")


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    try:
        for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
            exec(compile(block, "docs/image_makers.md", "exec"), space)  # noqa: S102 (our page)
    finally:
        forget_price("hosted/seedream-4-0-250828")
        forget_price("hosted/seedance-1-0-pro-fast-251015")

    assert space["boat"].paths[0].parent == tmp_path / "generated-media"
    assert space["red"].parents == (f"sha256:{space['boat'].artifacts[0].digest}",)
    assert space["provenance"].read(space["boat"].paths[0]).seed == 3
    assert (space["flag"].backend, space["flag"].model) == ("stripes", "two")


def test_the_page_names_every_maker_and_what_is_real() -> None:
    (points,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)

    assert list(tomllib.loads(points)["project"]["entry-points"]) == [GROUP]
    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == list(BUILT_IN)
    for variable in MODEL_VARIABLES.values():
        assert variable in TEXT
