"""A document -> what is known of it, worked out once: its facts, its sentences, its title."""

from __future__ import annotations

from collections import Counter
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from agentcell.adapters.local.fact import Fact
from agentcell.adapters.local.facts import find_facts
from agentcell.adapters.local.issuer import is_title
from agentcell.adapters.local.passages import Search, split_passages
from agentcell.adapters.local.rows import Row
from agentcell.adapters.local.values import currencies_in
from agentcell.adapters.local.words import content_words

if TYPE_CHECKING:
    from agentcell.adapters.local.document import Document

REMEMBERED = 32
"""Documents of which this is kept; the least lately used goes first."""

_HEAD = 8  # rows in which a title stands
_FOR_CURRENCY = 400  # rows


class Reading:
    """What is known of one document."""

    def __init__(self, rows: tuple[Row, ...]) -> None:
        self.rows = rows

    @cached_property
    def facts(self) -> list[Fact]:
        """What it states."""
        return find_facts(self.rows)

    @cached_property
    def search(self) -> Search:
        """Its sentences."""
        heads = {fact.head for fact in self.facts}  # headers of tables say nothing by themselves
        return Search(
            [passage for passage in split_passages(self.rows) if passage.row not in heads]
        )

    @cached_property
    def title_words(self) -> frozenset[str]:
        """The stems of its title and its first two rows."""
        head = self.rows[:_HEAD]
        titles = [row.text for number, row in enumerate(head) if number < 2 or is_title(row)]  # noqa: PLR2004
        return frozenset(content_words(" ".join(titles)))

    @cached_property
    def currency(self) -> str:
        """The code of the currency that it writes most; "" if it writes none."""
        counts: Counter[str] = Counter()
        for row in self.rows[:_FOR_CURRENCY]:
            counts.update(currencies_in(row.text))
        return counts.most_common(1)[0][0] if counts else ""

    def prepare(self) -> None:
        """Work all of it out now."""
        _ = self.facts, self.search, self.title_words, self.currency


@lru_cache(maxsize=REMEMBERED)
def reading_of(document: Document) -> Reading:
    """Return what is known of `document`."""
    return Reading(document.rows)
