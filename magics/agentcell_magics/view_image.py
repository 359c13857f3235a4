"""`%view_image`: show a picture and let it go with the next question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from agentcell.assets.asset import ImageAsset, MediaAsset
from agentcell.assets.coerce import coerce
from agentcell.assets.prepare import at_detail
from agentcell.errors import CellError
from agentcell.modality import FieldModality
from agentcell.session import Session
from agentcell_magics import cards
from agentcell_magics.attach import field_name
from agentcell_magics.cells import variables
from agentcell_magics.help import VIEW_HELP
from agentcell_magics.line import parse
from agentcell_magics.live import show
from agentcell_magics.options import VIEW_OPTIONS

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@magics_class
class ViewImageMagics(Magics):
    """Reads the line, hands the picture to the session, shows it."""

    shell: InteractiveShell  # never None here: it loads the class

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        super().__init__(shell)
        self.session = session

    @no_var_expand
    @line_magic
    def view_image(self, line: str) -> None:
        """Show an image and attach it; what people read of it is `VIEW_HELP`."""
        words, options = parse(line, VIEW_OPTIONS, "%view_image")
        if len(words) != 1:
            raise CellError(
                f"%view_image takes one path or variable, but {len(words)} were given.",
                fix="write for example %view_image plot.png; put quotes round a path with blanks.",
            )
        place = words[0]
        values = variables(self.shell)
        if place in values:
            asset = _one_image(
                coerce(values[place], name=place, modality=FieldModality.IMAGE), place
            )
        else:
            asset = _from_path(place)
        asset = at_detail(asset, options.get("detail", "auto"))
        name = options.get("name", field_name(place))
        label = options.get("label", asset.filename or name)
        tag = self.session.attach(asset, name=name, label=label)
        block = next(b for b in reversed(self.session.attachments) if b.tag == tag)
        if (shown := cards.picture(block)) is not None:
            show(*shown)
        show(cards.attachments([block], notes=[*asset.notes, "It goes with the next question."]))

    view_image.__doc__ = VIEW_HELP


def _from_path(place: str) -> ImageAsset:
    path = Path(place).expanduser()
    if not path.exists() and place.isidentifier():
        raise CellError(
            f"%view_image {place}: there is neither a variable nor a file of that name.",
            fix="check the spelling, or run the cell that makes it first.",
        )
    return ImageAsset.from_path(path)


def _one_image(found: object, place: str) -> ImageAsset:
    if isinstance(found, ImageAsset):
        return found
    kind = f"{len(found)} attachments" if isinstance(found, list) else type(found).__name__
    if isinstance(found, MediaAsset):
        kind = str(found.modality)
    raise CellError(
        f"%view_image {place}: one image was expected, but the variable holds {kind}.",
        fix="name one image, or attach the rest with {name} in a question.",
    )
