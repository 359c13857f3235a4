"""A file that came from the page → an attachment of the next question."""

from __future__ import annotations

from pathlib import PurePosixPath

from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.errors import AttachmentError
from agentcell.safe_text import plain
from agentcell.session import Session
from agentcell_widgets.panel import Uploaded

_PDF_HEAD = 1_024


def attach_file(session: Session, file: Uploaded) -> str:
    """Attach it, and return its tag.

    Parameters
    ----------
    session
        Whose next question it goes with.
    file
        An image or a PDF, by its content.

    Raises
    ------
    AttachmentError
        If it is neither.
    """
    with file.path.open("rb") as opened:
        is_pdf = b"%PDF-" in opened.read(_PDF_HEAD)
    name = plain(PurePosixPath(file.name.replace("\\", "/")).name) or None
    asset: MediaAsset
    if is_pdf:
        asset = PdfAsset.from_path(file.path, filename=name)
    else:
        try:
            asset = ImageAsset.from_path(file.path, filename=name)
        except AttachmentError as error:
            raise AttachmentError(
                error.problem.replace(str(file.path), name or "The file"), fix=error.fix
            ) from None
    label = PurePosixPath(name).stem if name else ""
    return session.attach(asset, name="pdf" if is_pdf else "image", label=label)
