"""`%view_image`: show a picture and let it go with the next question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from agentcell.assets.access import AccessPolicy
from agentcell.assets.asset import ImageAsset, MediaAsset
from agentcell.assets.coerce import coerce
from agentcell.assets.prepare import at_detail
from agentcell.errors import CellError, Stopped
from agentcell.modality import FieldModality
from agentcell.session import Session
from agentcell_magics import cards
from agentcell_magics.attach import asset_at, bare_name, check_named, field_name
from agentcell_magics.cells import is_terminal, variables
from agentcell_magics.line import parse, shown
from agentcell_magics.live import show
from agentcell_magics.options import VIEW_OPTIONS

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from agentcell_magics.typed import TypedCells


@magics_class
class ViewImageMagics(Magics):
    """Reads the line, hands the picture to the session, shows it."""

    shell: InteractiveShell  # never None here: it loads the class

    def __init__(self, shell: InteractiveShell, session: Session, typed: TypedCells) -> None:
        super().__init__(shell)
        self.session = session
        self.typed = typed

    @no_var_expand
    @line_magic
    def view_image(self, line: str) -> None:
        """Show an image and attach it; what people read of it is `help.VIEW_HELP`."""
        try:
            self._view(line)
        except KeyboardInterrupt:
            raise Stopped("as you asked; nothing was attached.") from None

    def _view(self, line: str) -> None:
        words, options = parse(line, VIEW_OPTIONS, "%view_image")
        words = [word for word in words if word.strip()]
        if len(words) != 1:
            raise CellError(
                f"%view_image takes one path or variable, but {len(words)} were given.",
                fix="write for example %view_image plot.png; put quotes round a path with blanks.",
            )
        self.session.access.typed(self.typed.code)
        values = variables(self.shell)
        place = bare_name(words[0], values)
        if place in values:
            asset = _one_image(
                coerce(values[place], name=place, modality=FieldModality.IMAGE), place
            )
        else:
            asset = _from_place(place, values, self.session.access)
        chosen = options.get("detail", "")
        asset = replace(at_detail(asset, chosen or "auto"), detail=chosen)
        name, label = options.get("name"), options.get("label")
        known = [b for b in self.session.attachments if b.fingerprint == asset.fingerprint()]
        if known and name is None and label is None:
            name, label = known[-1].field_name, known[-1].description
        name = name or field_name(place)
        label = label or asset.filename or name
        tag = self.session.attach(asset, name=name, label=label, place=place)
        block = next(b for b in self.session.attachments if b.tag == tag)
        if not is_terminal(self.shell) and (picture := cards.picture(block)) is not None:
            show(*picture)
        show(cards.attachments([block], notes=[*asset.notes, "It goes with the next question."]))


def _from_place(place: str, values: Mapping[str, Any], access: AccessPolicy) -> ImageAsset:
    if place[:4].lower() == "http" and "://" in place:
        raise CellError(
            f"%view_image {shown(place)}: only the model's service could look at an address.",
            fix="attach it below %%agent -a NAME=ADDRESS, or download it first.",
        )
    check_named(place, "%view_image")
    read = partial(access.media, asked_by="person")
    asset = asset_at(place, FieldModality.ANY, values, option="%view_image ", read=read)
    if isinstance(asset, ImageAsset):
        return asset
    raise CellError(
        f"%view_image {shown(place)}: an image was expected, but this is a PDF.",
        fix="attach it below %%agent -a NAME=PATH.",
    )


def _one_image(found: object, name: str) -> ImageAsset:
    if isinstance(found, list) and len(found) == 1:  # one generated picture, for example
        found = found[0]
    if isinstance(found, ImageAsset):
        return found
    what, fix = f"holds {type(found).__name__}", "name one image."
    if isinstance(found, str):
        what, fix = "holds text", "write the path itself, or make the variable a Path."
    elif isinstance(found, list):
        what = f"holds {len(found)} attachments"
        fix = f"name one of them, or write {{{name}}} in the question."
    elif isinstance(found, MediaAsset):
        what, fix = "holds a PDF", f"write {{{name}}} in the question."
    raise CellError(
        f"%view_image {name}: one image was expected, but the variable {what}.", fix=fix
    )
