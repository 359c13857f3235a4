"""What a notebook holds after twenty cells that show one photo of five megabytes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from nbformat.v4 import new_code_cell, new_notebook, new_output, writes
from PIL import Image

from kernels import Kernel, Ran

SETUP = """
%load_ext agentcell
%config AgentMagics.history = "memory"
from pathlib import Path
from PIL import Image
from agentcell import ImageAsset
from agentcell.magics import current_session
from agentcell.testing import FakeModel
current_session().model = FakeModel("It shows noise.")
opened = Image.open("photo.jpg")
"""

CELLS = [
    *["%%agent -a photo=photo.jpg\nWhat does {photo} show?"] * 8,
    *["%%agent\nWhat does {opened} show?"] * 4,
    *["%view_image photo.jpg"] * 4,
    "ImageAsset.from_path('photo.jpg')",
    "ImageAsset.from_bytes(Path('photo.jpg').read_bytes())",
    "%agent attachments",
    "%%agent -v -a photo=photo.jpg\nAnd {photo}?",
]

MOST_BYTES = 500_000
PICTURES = {"image/png", "image/jpeg"}
BASE64 = re.compile(r"[A-Za-z0-9+/]{201,}")


def photo(path: Path) -> None:
    """Write a JPEG of about five megabytes: shapes of a photo with a sensor's noise."""
    random = np.random.default_rng(7)
    coarse = Image.fromarray(random.integers(0, 255, (24, 32, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((3264, 2448), Image.Resampling.BICUBIC), dtype=np.int16)
    noise = random.normal(0, 14, smooth.shape).astype(np.int16)
    Image.fromarray((smooth + noise).clip(0, 255).astype(np.uint8)).save(path, quality=96)


def saved(runs: list[Ran]) -> str:
    """The notebook as a front end writes it."""
    cells = [
        new_code_cell(
            source,
            execution_count=number,
            outputs=[new_output(**output) for output in run.outputs],
        )
        for number, (source, run) in enumerate(zip(CELLS, runs, strict=True), start=1)
    ]
    return str(writes(new_notebook(cells=cells)))


def test_twenty_cells_with_one_photo_stay_under_half_a_megabyte(
    kernel: Kernel, tmp_path: Path
) -> None:
    photo(tmp_path / "photo.jpg")
    assert 4_000_000 < (tmp_path / "photo.jpg").stat().st_size < 8_000_000
    assert kernel.run(SETUP).status == "ok"
    runs = [kernel.run(source, cell_id=f"cell-{n}") for n, source in enumerate(CELLS)]
    text = saved(runs)

    assert [run.status for run in runs] == ["ok"] * len(CELLS) == ["ok"] * 20
    assert len(text.encode()) <= MOST_BYTES
    for output in (output for run in runs for output in run.outputs):
        texts = {
            kind: data for kind, data in output.get("data", {}).items() if kind not in PICTURES
        }
        assert not BASE64.search(json.dumps([texts, output.get("text"), output.get("metadata")]))
    assert sum(bool(PICTURES & set(o.get("data", {}))) for run in runs for o in run.outputs) >= 16
