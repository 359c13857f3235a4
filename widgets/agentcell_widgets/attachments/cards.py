"""A session's attachments and its model -> what each card of the tray says."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from agentcell.adapters.events import Usage
from agentcell.adapters.model import Model
from agentcell.adapters.price_table import shown
from agentcell.adapters.pricing import cost
from agentcell.dry_attachment import DryAttachment, look_at
from agentcell.errors import AgentcellError
from agentcell.messages import MediaMessageBlock
from agentcell.modality import FieldModality
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell.wording import say, word
from agentcell_widgets.panel.media_words import media_facts

_GOES = {
    "inline": "goes as it is",
    "upload": "is uploaded once, then goes by its file id",
    "url": "goes by its address, which the service reads",
    "file id": "goes by its file id",
    "text": "goes as text",
    "page images": "goes as images of its pages",
}

_MOST_KEPT = 2_000


class Cards:
    """Says what an attachment is and how it goes; what was worked out once is kept."""

    def __init__(self) -> None:
        self._looks: dict[tuple[object, ...], tuple[DryAttachment, Decimal | None]] = {}

    def of(self, session: Session) -> dict[str, Any]:
        """Return what the page shows of a session, as JSON.

        Parameters
        ----------
        session
            The session behind the panel.

        Returns
        -------
        dict
            ``model``, its name, or ``trouble``, why there is none; ``cards``, a dict each; and
            ``total``, what those that wait come to.
        """
        model, trouble = _model(session)
        waiting = {one.tag for one in session.waiting}
        cards, tokens, dollars, is_known = [], 0, Decimal(0), True
        for block in session.attachments:
            card = _facts(block)
            card["waits"] = block.tag in waiting
            if model is not None:
                look, price = self._look(model, block)
                card |= _going(block, look, price)
                if card["waits"] and look.tokens is not None:
                    tokens += look.tokens.tokens
                    is_known = is_known and price is not None
                    dollars += price or 0
            cards.append(card)
        total = ""
        if tokens:
            total = say("about {count} tokens", count=f"{tokens:,}")
            total += f" · {_price(dollars)}" if is_known else ""
        return {
            "model": plain(model.name) if model else "",
            "trouble": trouble,
            "total": total,
            "cards": cards,
        }

    def _look(self, model: Model, block: MediaMessageBlock) -> tuple[DryAttachment, Decimal | None]:
        key = (model.name, id(model), block.tag, block.fingerprint)
        known = self._looks.get(key)
        if known is None:
            look = look_at(model, block)
            known = look, _dollars(model, look)
            if len(self._looks) >= _MOST_KEPT:
                self._looks.clear()
            self._looks[key] = known
        return known


def _model(session: Session) -> tuple[Model | None, str]:
    try:
        return session.model, ""
    except AgentcellError as error:
        return None, plain(f"{error.problem} {error.fix}".strip())


def _facts(block: MediaMessageBlock) -> dict[str, Any]:
    asset = block.asset
    is_pdf = asset.modality is FieldModality.PDF
    return {
        "tag": plain(block.tag),
        "key": block.tag,
        "label": plain(block.description or block.field_name),
        "facts": " · ".join(media_facts(asset)),
        "pages": asset.pages or 1 if is_pdf else 1,
        "is_pdf": is_pdf,
        "has_picture": asset.snapshot is not None,
        "name": plain(asset.default_filename),
        "notes": [plain(note) for note in asset.notes],
    }


def _going(
    block: MediaMessageBlock, look: DryAttachment, price: Decimal | None
) -> Mapping[str, Any]:
    if look.refusal:
        return {"refused": say("refused: {reason}", reason=plain(look.refusal))}
    going = word(_GOES[look.how])
    if look.how == "inline":
        is_pdf = block.asset.modality is FieldModality.PDF
        going = word("goes as a PDF" if is_pdf else "goes as an image")
    estimate = ""
    if look.tokens is not None:
        estimate = say("about {count} tokens", count=f"{look.tokens.tokens:,}")
        estimate += f" · {_price(price)}" if price is not None else ""
    own = [plain(note) for note in look.notes]
    return {"going": going, "estimate": estimate, "notes": own}


def _dollars(model: Model, look: DryAttachment) -> Decimal | None:
    """Return what the attachment alone would cost; None where nobody knows the price."""
    if look.tokens is None:
        return None
    usage = Usage(input_tokens=look.tokens.tokens, output_tokens=0, estimated=True)
    found = cost(model, usage)
    return None if found is None else found.total


def _price(dollars: Decimal) -> str:
    return shown(dollars) if dollars else word("free")
