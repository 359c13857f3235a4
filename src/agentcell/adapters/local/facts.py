"""A document's rows -> facts: what it states, each with its label, its value and a quote."""

from __future__ import annotations

from collections.abc import Sequence

from agentcell.adapters.local.addresses import find_addresses
from agentcell.adapters.local.bare import without_label
from agentcell.adapters.local.fact import Fact
from agentcell.adapters.local.lines import read_lines
from agentcell.adapters.local.pairs import across_cells, inside_cells
from agentcell.adapters.local.rows import Row
from agentcell.adapters.local.stacks import over_numbers, over_values
from agentcell.adapters.local.tables import in_tables


def find_facts(rows: Sequence[Row]) -> list[Fact]:
    """Return the facts in `rows`, in their order.

    The layouts are tried from the surest on; a label that has its value is not given another.
    """
    lines = read_lines(rows)
    facts = list(in_tables(lines))
    in_table = {fact.row for fact in facts if fact.columns}
    for line in lines:
        if not line.is_prose:
            facts += inside_cells(line)
        if not line.is_prose and not line.is_header:
            facts += across_cells(line, in_table=line.index in in_table)
    facts += over_values(lines)
    facts += over_numbers(lines)
    facts += without_label(lines, facts)
    facts += find_addresses(lines)
    return sorted(facts, key=lambda fact: fact.row)
