"""A turn that no cell asked, but a panel → the name that stands where a cell's id would.

So it is in force in every life of the kernel, and can be asked again in its place.
"""

from __future__ import annotations

import uuid

PREFIX = "panel-"
"""What these names begin with. Hosts give cells UUIDs or eight letters and digits."""


def new_panel_cell() -> str:
    """Return a name that no turn has yet."""
    return f"{PREFIX}{uuid.uuid4().hex[:12]}"


def is_panel_cell(cell_id: str | None) -> bool:
    """Whether a turn was asked in a panel, and not in a cell of the notebook.

    Parameters
    ----------
    cell_id
        Its `Turn.cell_id`.
    """
    return cell_id is not None and cell_id.startswith(PREFIX)
