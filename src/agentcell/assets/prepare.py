"""Assets and what a provider takes -> the bytes that go out, and notes of what was done to them.

What already fits goes out untouched, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.assets.convert import Target, converted, page_image
from agentcell.assets.limits import MediaLimits
from agentcell.assets.sniff import EXTENSIONS, NAMES, with_article
from agentcell.errors import AttachmentError

Detail: TypeAlias = Literal["auto", "high", "original"]
PdfAs: TypeAlias = Literal["pdf", "images", "text"]

DETAIL_SIDES: dict[str, int | None] = {"auto": 1568, "high": 2048, "original": None}
"""Pixels of the longer side at each level of detail.

1568 is what Anthropic's smaller models see (a larger image is scaled down there); 2048 is the
square that OpenAI fits an image into. Both from the providers' pages on vision, 2026-11-29.
"""

PAGE_SIDE = 1568
_PAGE_SIDES = {"high": 2048, "original": 2048}
"""Pixels of a page's longer side where its detail asks for more; a page itself has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How one attachment is to go out; see `prepare`.

    Parameters
    ----------
    detail
        ``auto``, ``high`` or ``original``; empty where nobody chose: an image then goes as it is,
        and its service looks at it as it usually does.
    pdf_as
        ``pdf``, ``images`` or ``text``.

    Raises
    ------
    AttachmentError
        If `detail` or `pdf_as` is none of their choices.
    """

    detail: str = ""
    pdf_as: str = "pdf"

    def __post_init__(self) -> None:
        if self.detail and self.detail not in DETAIL_SIDES:
            raise AttachmentError(
                f"The detail is {self.detail!r}; auto, high or original was expected.",
                fix="use --detail auto.",
            )
        if self.pdf_as not in {"pdf", "images", "text"}:
            raise AttachmentError(
                f"PDFs were to be sent as {self.pdf_as!r}; pdf, images or text was expected.",
                fix="use --pdf-as pdf.",
            )

    def chosen(self, detail: str | None, pdf_as: str | None) -> Form:
        """Return the form with what is given in the place of its own; None leaves it."""
        return Form(detail=detail or self.detail, pdf_as=pdf_as or self.pdf_as)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One attachment as it goes out.

    Parameters
    ----------
    original
        What was attached.
    assets
        What is sent for it: itself, a converted copy, or a PDF's pages. Empty if it goes as text.
    text
        A PDF's text, where it goes as text; else "".
    notes
        What was done, a sentence each; empty if nothing was.
    """

    original: MediaAsset
    assets: tuple[MediaAsset, ...]
    text: str = ""
    notes: tuple[str, ...] = ()


def at_detail(asset: ImageAsset, detail: str = "auto") -> ImageAsset:
    """Return `asset` no larger than a level of detail asks for; the very same if it fits.

    A scaled copy has a note that says so.

    Parameters
    ----------
    asset
        An image of any source; an address or file id has no size that is known, and stays.
    detail
        ``auto`` (up to 1568 px), ``high`` (up to 2048 px), ``original`` or empty (untouched).

    Raises
    ------
    AttachmentError
        If `detail` is something else, or the image cannot be scaled.
    """
    side = DETAIL_SIDES.get(Form(detail=detail).detail)
    longest = max(asset.width or 0, asset.height or 0)
    if side is None or longest <= side or asset.mime_type == "image/svg+xml":
        return asset
    small = converted(asset, Target(max_side=side))
    note = f"{_name(asset)} was scaled from {_size(asset)} to {_size(small)} (detail {detail})."
    return small.replaced(filename=small.filename, notes=(*small.notes, note))


def prepare(
    assets: Sequence[MediaAsset],
    limits: MediaLimits,
    *,
    detail: str = "",
    pdf_as: str = "pdf",
    forms: Mapping[str, Form] | None = None,
) -> list[Prepared]:
    """Prepare all the attachments of one request.

    Parameters
    ----------
    assets
        In the request's order. Addresses and file ids go out as they are.
    limits
        What the provider takes; see `agentcell.assets.limits`.
    detail
        For images, and for pages that go as images, as for `at_detail`. What is chosen stands in
        their `detail` too, for services that can be told how closely to look.
    pdf_as
        How PDFs go out: ``pdf``, ``images`` (one for each page) or ``text``.
    forms
        For some, by their fingerprints, another detail and another form of PDFs. An image that
        has a `detail` of its own keeps it.

    Raises
    ------
    AttachmentError
        If something cannot be made to fit; says what, and the way out. Nothing is left out.
    """
    usual = Form(detail=detail, pdf_as=pdf_as)
    formed = [((forms or {}).get(asset.fingerprint(), usual), asset) for asset in assets]
    count = sum(_image_count(asset, form.pdf_as) for form, asset in formed)
    if count > limits.images:
        raise AttachmentError(
            f"{count:,} images are to be sent; {limits.provider} takes at most {limits.images:,}"
            " in a request.",
            fix="attach fewer, or send PDFs as text (--pdf-as text).",
        )
    side = limits.image_side
    if limits.many_images is not None and count > limits.many_images:
        side = limits.many_images_side
    prepared = [
        _pdf(asset, limits, side, form)
        if isinstance(asset, PdfAsset)
        else _image(asset, limits, side, asset.detail or form.detail)
        if isinstance(asset, ImageAsset)
        else Prepared(original=asset, assets=(asset,))
        for form, asset in formed
    ]
    _check_request(prepared, limits)
    return prepared


def _image_count(asset: MediaAsset, pdf_as: str) -> int:
    if isinstance(asset, PdfAsset):
        return (asset.pages or 0) if pdf_as == "images" else 0
    return 1


def _image(asset: ImageAsset, limits: MediaLimits, side: int | None, detail: str) -> Prepared:
    if asset.source_kind in {"url", "file_id"}:
        note = f"{_name(asset)} is not scaled (detail {detail}): its content is not here."
        notes = [note] if DETAIL_SIDES.get(detail) else []
        return Prepared(original=asset, assets=(_looked_at(asset, detail),), notes=tuple(notes))
    image = at_detail(asset, detail)
    notes = list(image.notes[len(asset.notes) :])
    reasons = _reasons(image, limits, side)
    if reasons:
        before = image
        image = converted(
            image,
            Target(
                types=limits.image_types & {"image/png", "image/jpeg"},
                max_side=side,
                max_bytes=limits.image_bytes,
            ),
        )
        notes.append(_note(before, image, reasons))
    return Prepared(original=asset, assets=(_looked_at(image, detail),), notes=tuple(notes))


def _looked_at(image: ImageAsset, detail: str) -> ImageAsset:
    """Return `image` with the detail that was chosen for it; with its own where none was."""
    return image if detail in {"", image.detail} else replace(image, detail=detail)


def _reasons(asset: ImageAsset, limits: MediaLimits, side: int | None) -> list[str]:
    """Say why an image cannot go out as it is, as it reads after "because"."""
    reasons = []
    noun = NAMES[asset.mime_type]
    if asset.mime_type not in limits.image_types:
        reasons.append(f"{limits.provider} takes no {noun.removesuffix(' image')} images")
    if asset.animated and asset.mime_type not in limits.animated_types:
        part = "page" if asset.mime_type == "image/tiff" else "frame"
        reasons.append(f"only its first {part} is seen")
    if asset.facts.orientation != 1 and not limits.as_stored:
        reasons.append("its pixels are stored turned")
    if asset.facts.is_cmyk and not limits.as_stored:
        reasons.append("its colours are for print (CMYK)")
    if side is not None and max(asset.width or 0, asset.height or 0) > side:
        reasons.append(f"{limits.provider} takes at most {side:,} px on a side")
    if (asset.size_bytes or 0) > limits.image_bytes:
        reasons.append(f"{limits.provider} takes at most {limits.image_bytes:,} bytes an image")
    return reasons


def _note(before: ImageAsset, after: ImageAsset, reasons: list[str]) -> str:
    changes = []
    if after.mime_type != before.mime_type:
        changes.append(f"as {with_article(NAMES[after.mime_type])}")
    if (after.width, after.height) != (before.width, before.height):
        changes.append(f"scaled from {_size(before)} to {_size(after)}")
    how = ", ".join(changes) or f"as a new {EXTENSIONS[after.mime_type].upper()} file"
    return f"{_name(before)} is sent {how}, because {' and '.join(reasons)}."


def _pdf(asset: PdfAsset, limits: MediaLimits, side: int | None, form: Form) -> Prepared:
    pdf_as = form.pdf_as
    if asset.source_kind in {"url", "file_id"}:
        if pdf_as != "pdf":
            raise AttachmentError(
                f"{asset.describe()} cannot be sent as {pdf_as}: its content is not here.",
                fix="download it and attach the file by its path.",
            )
        return Prepared(original=asset, assets=(asset,))
    if pdf_as == "text":
        return _pdf_text(asset)
    if pdf_as == "images":
        return _pdf_images(asset, limits, side, form.detail)
    if not limits.pdf:
        raise _no_pdfs(asset, limits)
    if (asset.size_bytes or 0) > limits.pdf_bytes:
        raise AttachmentError(
            f"{_name(asset)} is {asset.size_bytes:,} bytes; {limits.provider} takes PDFs of at"
            f" most {limits.pdf_bytes:,}.",
            fix="attach fewer pages of it, or send its text (--pdf-as text).",
        )
    if limits.pdf_pages is not None and (asset.pages or 0) > limits.pdf_pages:
        raise AttachmentError(
            f"{_name(asset)} has {asset.pages:,} pages; {limits.provider} takes at most"
            f" {limits.pdf_pages:,}.",
            fix="attach fewer pages of it, or send its text (--pdf-as text).",
        )
    return Prepared(original=asset, assets=(asset,))


def _no_pdfs(asset: PdfAsset, limits: MediaLimits) -> AttachmentError:
    from agentcell.assets.pdf import text_or_scan

    kind = text_or_scan(asset.content, _name(asset))
    noun, fix = {
        "text": ("a PDF", "send its text (--pdf-as text) or its pages as images"),
        "scan": ("a scanned PDF", "send its pages as images"),
        "mixed": ("a PDF, partly scanned", "send its pages as images"),
    }[kind]
    return AttachmentError(
        f"{limits.provider} takes no PDFs; {_name(asset)} is {noun}.",
        fix=f"{fix} (--pdf-as images).",
    )


def _pdf_text(asset: PdfAsset) -> Prepared:
    from agentcell.assets.pdf import page_texts

    texts = page_texts(asset.content, _name(asset))
    empty = [number for number, text in enumerate(texts, 1) if not text]
    if len(empty) == len(texts):
        raise AttachmentError(
            f"{_name(asset)} holds no text: its pages are scans.",
            fix="send its pages as images (--pdf-as images).",
        )
    shown = "\n\n".join(f"Page {number}:\n{text}" for number, text in enumerate(texts, 1))
    notes = [f"{_name(asset)} is sent as its text, without its layout and pictures."]
    if empty:
        pages = ", ".join(str(number) for number in empty[:10]) + ("…" if len(empty) > 10 else "")  # noqa: PLR2004 (as many as read well)
        notes.append(f"Page{'s' if len(empty) > 1 else ''} {pages} of it hold no text.")
    return Prepared(original=asset, assets=(), text=shown, notes=tuple(notes))


def _pdf_images(asset: PdfAsset, limits: MediaLimits, side: int | None, detail: str) -> Prepared:
    wanted = _PAGE_SIDES.get(detail, PAGE_SIDE)
    target = Target(
        types=limits.image_types & {"image/png", "image/jpeg"},
        max_side=min(wanted, side or wanted),
        max_bytes=limits.image_bytes,
    )
    count = asset.pages or 0
    pages = tuple(
        _looked_at(page_image(asset, page, target), detail) for page in range(1, count + 1)
    )
    what = f"{count} images, one for each page" if count > 1 else "an image of its page"
    return Prepared(original=asset, assets=pages, notes=(f"{_name(asset)} is sent as {what}.",))


def _check_request(prepared: list[Prepared], limits: MediaLimits) -> None:
    sizes = [asset.size_bytes or 0 for each in prepared for asset in each.assets]
    total = sum((size + 2) // 3 * 4 for size in sizes)
    if total > limits.request_bytes:
        raise AttachmentError(
            f"The attachments are {total:,} bytes as base64; {limits.provider} takes at most"
            f" {limits.request_bytes:,} in a request.",
            fix="attach fewer, or smaller ones (--detail auto).",
        )


def _name(asset: MediaAsset) -> str:
    return asset.default_filename


def _size(asset: MediaAsset) -> str:
    return f"{asset.width} × {asset.height} px"
