"""A path, bytes, base64, an address or a file id -> an attachment that never changes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal, Self, TypeAlias, cast

from agentcell.assets.address import checked_file_id, checked_url, shown_url, url_filename
from agentcell.assets.content import Content
from agentcell.assets.encoded import decode_text
from agentcell.assets.facts import MAX_PDF_BYTES, Facts, facts_of
from agentcell.assets.intake import clean_name, local_path, read_path, short
from agentcell.assets.sniff import (
    EXTENSIONS,
    NAMES,
    normal_mime_type,
    suffix_type,
    with_article,
)
from agentcell.errors import AttachmentError
from agentcell.modality import FieldModality

SourceKind: TypeAlias = Literal["path", "bytes", "base64", "url", "file_id"]

_MAX_REPR_NAME = 60


class MediaAsset:
    """One image or PDF, from wherever it came. Made by the ``from_`` methods of its two kinds.

    It never changes: what a path held is kept as it was. Two assets are equal if they hold the
    same content, whatever their source or name. It may be shared between threads and pickled.

    Attributes
    ----------
    source_kind
        ``path``, ``bytes``, ``base64``, ``url`` or ``file_id``.
    mime_type
        By content. Of an address or file id: as declared, or "".
    filename
        The last part of the name, or None.
    size_bytes
        Of the encoded file; None for an address or file id.
    width, height
        Pixels as shown, the orientation applied; None for PDFs and where unknown.
    pages
        Of a PDF; None for images and where unknown.
    notes
        What the person should know, a sentence each.
    path, url, file_id
        The source; None but for the one that `source_kind` names.
    """

    __slots__ = (
        "__weakref__",
        "_content",
        "_facts",
        "_fingerprint",
        "file_id",
        "filename",
        "mime_type",
        "notes",
        "path",
        "source_kind",
        "url",
    )

    modality: ClassVar[FieldModality]
    source_kind: SourceKind
    mime_type: str
    filename: str | None
    notes: tuple[str, ...]
    path: Path | None
    url: str | None
    file_id: str | None
    _content: Content | None
    _facts: Facts | None
    _fingerprint: str

    def __init__(self) -> None:
        raise TypeError(
            f"{type(self).__name__} is made by from_path, from_bytes, from_base64, from_url"
            " or from_file_id."
        )

    @classmethod
    def from_path(
        cls,
        path: str | os.PathLike[str],
        *,
        mime_type: str | None = None,
        filename: str | None = None,
    ) -> Self:
        """Read a local file, once, now.

        Parameters
        ----------
        path
            ``~`` is expanded.
        mime_type
            What it is believed to be. The content decides; a note tells where they differ.
        filename
            What to call it; the path's last part by default.

        Raises
        ------
        AttachmentError
            If there is no such file, or it is empty, too large, damaged or of another kind.
        """
        place = local_path(path)
        name = clean_name(filename) or clean_name(place.name)
        content = read_path(place, short(clean_name(place.name) or str(place)), MAX_PDF_BYTES)
        return cls._of_content("path", content, name, mime_type, path=place)

    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        *,
        mime_type: str | None = None,
        filename: str | None = None,
    ) -> Self:
        """Take a file's content. Parameters and errors as for `from_path`."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise AttachmentError(
                f"A {type(data).__name__} was given as a file's content; bytes were expected.",
                fix="use from_path for a path, from_base64 for base64, from_url for an address.",
            )
        size = data.nbytes if isinstance(data, memoryview) else len(data)
        if size > MAX_PDF_BYTES:
            raise AttachmentError(
                f"{size:,} bytes were given; at most {MAX_PDF_BYTES:,} are taken.",
                fix="attach a smaller copy, or one part of it.",
            )
        return cls._of_content("bytes", Content.of_bytes(bytes(data)), filename, mime_type)

    @classmethod
    def from_base64(
        cls, text: str, *, mime_type: str | None = None, filename: str | None = None
    ) -> Self:
        """Take a file's content as base64 or as a ``data:`` address.

        Parameters and errors as for `from_path`; a text that is not wholly base64 is an error.
        """
        decoded = decode_text(text, MAX_PDF_BYTES)
        content = Content.of_bytes(decoded.data)
        return cls._of_content("base64", content, filename, mime_type or decoded.claim or None)

    @classmethod
    def from_url(
        cls, url: str, *, mime_type: str | None = None, filename: str | None = None
    ) -> Self:
        """Name a file on the web, for the provider to fetch; nothing is fetched here.

        A ``data:`` address is decoded, as by `from_base64`.

        Raises
        ------
        AttachmentError
            If it is not http or https, holds a password, or `mime_type` is of another kind.
        """
        if isinstance(url, str) and url.lstrip()[:5].lower() == "data:":
            return cls.from_base64(url, mime_type=mime_type, filename=filename)
        address = checked_url(url)
        name = clean_name(filename) or clean_name(url_filename(address))
        return cls._of_reference("url", address, name, mime_type)

    @classmethod
    def from_file_id(
        cls, file_id: str, *, mime_type: str | None = None, filename: str | None = None
    ) -> Self:
        """Name a file that was uploaded to the provider.

        Raises
        ------
        AttachmentError
            If it is empty or holds whitespace, or `mime_type` is of another kind.
        """
        return cls._of_reference(
            "file_id", checked_file_id(file_id), clean_name(filename), mime_type
        )

    @classmethod
    def _of_content(
        cls,
        source_kind: SourceKind,
        content: Content,
        filename: str | None,
        claim: str | None,
        *,
        path: Path | None = None,
    ) -> Self:
        name = clean_name(filename)
        shown = short(name) if name else "The attachment"
        facts = facts_of(content, shown, cls._expected())
        kind = cls._kind_for(facts, shown)
        notes = _notes(name, claim, facts.mime_type)
        return cast(
            "Self",
            kind._make(
                source_kind=source_kind,
                mime_type=facts.mime_type,
                filename=name,
                notes=notes,
                path=path,
                content=content,
                facts=facts,
                fingerprint=f"sha256:{content.digest}",
            ),
        )

    @classmethod
    def _kind_for(cls, facts: Facts, shown: str) -> type[MediaAsset]:
        holder = PdfAsset if facts.modality is FieldModality.PDF else ImageAsset
        if cls is MediaAsset:
            return holder
        if cls.modality is not facts.modality:
            raise AttachmentError(
                f"{shown} holds {with_article(NAMES[facts.mime_type])}, not {cls._expected()}.",
                fix=f"use {holder.__name__} for it.",
            )
        return cls

    @classmethod
    def _expected(cls) -> str:
        return {ImageAsset: "an image", PdfAsset: "a PDF"}.get(cls, "an image or a PDF")

    @classmethod
    def _of_reference(
        cls,
        source_kind: Literal["url", "file_id"],
        value: str,
        filename: str | None,
        claim: str | None,
    ) -> Self:
        if cls is MediaAsset:
            raise TypeError("Use ImageAsset or PdfAsset: an address does not say which it is.")
        declared = normal_mime_type(claim) if claim else ""
        is_pdf = cls.modality is FieldModality.PDF
        if declared and (declared not in NAMES or (declared == "application/pdf") is not is_pdf):
            raise AttachmentError(
                f"{short(str(claim), 60)!r} was declared as the type of"
                f" {'a PDF' if is_pdf else 'an image'}.",
                fix="declare application/pdf, or leave it out."
                if is_pdf
                else "declare one like image/png, or leave it out.",
            )
        return cls._make(
            source_kind=source_kind,
            mime_type=declared or ("application/pdf" if is_pdf else ""),
            filename=filename,
            url=value if source_kind == "url" else None,
            file_id=value if source_kind == "file_id" else None,
            fingerprint=f"{source_kind}:{hashlib.sha256(value.encode()).hexdigest()}",
        )

    @classmethod
    def _make(  # noqa: PLR0913 (one for each slot)
        cls,
        *,
        source_kind: SourceKind,
        mime_type: str,
        filename: str | None,
        fingerprint: str,
        notes: tuple[str, ...] = (),
        path: Path | None = None,
        url: str | None = None,
        file_id: str | None = None,
        content: Content | None = None,
        facts: Facts | None = None,
    ) -> Self:
        made = object.__new__(cls)
        for name, value in (
            ("source_kind", source_kind),
            ("mime_type", mime_type),
            ("filename", filename),
            ("notes", notes),
            ("path", path),
            ("url", url),
            ("file_id", file_id),
            ("_content", content),
            ("_facts", facts),
            ("_fingerprint", fingerprint),
        ):
            object.__setattr__(made, name, value)
        return made

    def replaced(self, *, filename: str | None, notes: tuple[str, ...]) -> Self:
        """Return the same content under another name, with other notes."""
        return self._make(**{**self._state(), "filename": clean_name(filename), "notes": notes})

    def _state(self) -> dict[str, Any]:
        return {
            "source_kind": self.source_kind,
            "mime_type": self.mime_type,
            "filename": self.filename,
            "fingerprint": self._fingerprint,
            "notes": self.notes,
            "path": self.path,
            "url": self.url,
            "file_id": self.file_id,
            "content": self._content,
            "facts": self._facts,
        }

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: {name} was to be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: {name} was to be deleted.")

    @property
    def size_bytes(self) -> int | None:
        """Of the encoded file; None for an address or file id."""
        return self._content.size_bytes if self._content else None

    @property
    def width(self) -> int | None:
        """Pixels across, as shown."""
        return self.facts.width

    @property
    def height(self) -> int | None:
        """Pixels down, as shown."""
        return self.facts.height

    @property
    def pages(self) -> int | None:
        """The number of a PDF's pages."""
        return self.facts.pages

    @property
    def animated(self) -> bool:
        """Whether the image has more than one frame."""
        return self.facts.animated

    def fingerprint(self) -> str:
        """Return the identity: ``sha256:<hex>`` of the content alone.

        ``url:<hex>`` or ``file_id:<hex>`` of the string where the content is elsewhere.
        """
        return self._fingerprint

    def load_bytes(self) -> bytes:
        """Return the file's content.

        Raises
        ------
        AttachmentError
            For an address or file id: nothing is fetched.
        """
        return self.content.read()

    def open(self) -> BinaryIO:
        """Return a new stream over the content, without loading it whole; the caller closes it.

        Raises
        ------
        AttachmentError
            For an address or file id: nothing is fetched.
        """
        return self.content.open()

    @property
    def facts(self) -> Facts:
        """What its content is, as far as it is here."""
        return self._facts or Facts(self.mime_type)

    @property
    def content(self) -> Content:
        """The snapshot of the file.

        Raises
        ------
        AttachmentError
            For an address or file id: nothing is fetched.
        """
        if self._content is None:
            where = "an address" if self.source_kind == "url" else "a file id"
            raise AttachmentError(
                f"{self._label()} is {where}; its content is not here.",
                fix="download it and attach the file by its path.",
            )
        return self._content

    @property
    def default_filename(self) -> str:
        """The filename, or one made of the type: ``image.png``, ``document.pdf``."""
        if self.filename:
            return self.filename
        if self.modality is FieldModality.PDF:
            return "document.pdf"
        return f"image.{EXTENSIONS.get(self.mime_type, 'png')}"

    def prompt_summary(self) -> str:
        """Return the asset as it reads within a prompt: ``[IMAGE: a.png, 69B]``."""
        size = "" if self.size_bytes is None else f", {_binary_size(self.size_bytes)}"
        return f"[{self.modality}: {self.default_filename}{size}]"

    def describe(self) -> str:
        """Return type, pixels or pages, and size: ``PNG image, 600 × 900 px, 30 kB``."""
        noun = NAMES.get(self.mime_type) or ("PDF" if self._is_pdf() else "image")
        if self.url:
            return f"{noun} at {shown_url(self.url)}"
        if self.file_id:
            return f"{noun} with file id {short(self.file_id, 40)}"
        return ", ".join([noun, *self._measures()])

    def _is_pdf(self) -> bool:
        return self.modality is FieldModality.PDF

    def _measures(self) -> list[str]:
        measures = []
        if self.width and self.height:
            measures.append(f"{self.width} × {self.height} px")
        if self.pages:
            measures.append(f"{self.pages} page{'s' if self.pages > 1 else ''}")
        if self.size_bytes is not None:
            measures.append(_decimal_size(self.size_bytes))
        return measures

    def _label(self) -> str:
        if self.url:
            return shown_url(self.url)
        return short(self.filename or self.file_id or "", _MAX_REPR_NAME)

    def __repr__(self) -> str:
        facts = [repr(self._label())] if self._label() else []
        if self.source_kind in {"url", "file_id"}:
            facts.append(self.source_kind)
        facts += [self.mime_type] if self.mime_type else []
        facts += [measure.replace(" × ", "×").removesuffix(" px") for measure in self._measures()]
        return f"{type(self).__name__}({', '.join(facts)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MediaAsset):
            return NotImplemented
        return (self.modality, self._fingerprint) == (other.modality, other._fingerprint)

    def __hash__(self) -> int:
        return hash((self.modality.value, self._fingerprint))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (_remade, (type(self), self._state()))


class ImageAsset(MediaAsset):
    """One image. See `MediaAsset`."""

    __slots__ = ()
    modality = FieldModality.IMAGE


class PdfAsset(MediaAsset):
    """One PDF. See `MediaAsset`."""

    __slots__ = ()
    modality = FieldModality.PDF


Asset: TypeAlias = ImageAsset | PdfAsset


def asset_from_path(path: str | os.PathLike[str], *, filename: str | None = None) -> Asset:
    """Read a local file as the kind of asset that its content is; see `MediaAsset.from_path`."""
    return cast("Asset", MediaAsset.from_path(path, filename=filename))


def asset_from_bytes(
    data: bytes | bytearray | memoryview,
    filename: str | None = None,
    *,
    mime_type: str | None = None,
) -> Asset:
    """Take a file's content as the kind of asset that it is; see `MediaAsset.from_bytes`."""
    return cast("Asset", MediaAsset.from_bytes(data, mime_type=mime_type, filename=filename))


def asset_from_url(url: str, *, modality: FieldModality = FieldModality.ANY) -> Asset:
    """Name a file on the web.

    Parameters
    ----------
    url
        http, https or ``data:``. The content of a data address decides what it is.
    modality
        IMAGE or PDF, as the field declares; with ANY the ending of the address decides.

    Raises
    ------
    AttachmentError
        If the address cannot be used, or it does not say what it leads to.
    """
    if isinstance(url, str) and url.lstrip()[:5].lower() == "data:":
        asset = cast("Asset", MediaAsset.from_base64(url))
        if modality in {FieldModality.IMAGE, FieldModality.PDF}:
            asset._kind_for(cast("Facts", asset._facts), "The data: address")  # noqa: SLF001
        return asset
    if modality is FieldModality.IMAGE:
        return ImageAsset.from_url(url)
    if modality is FieldModality.PDF:
        return PdfAsset.from_url(url)
    address = checked_url(url)
    claim = suffix_type(url_filename(address))
    if not claim:
        raise AttachmentError(
            f"{shown_url(address)} does not say whether it leads to an image or a PDF.",
            fix='declare it: -i name="IMAGE:…" or "PDF:…"; or ImageAsset.from_url(…).',
        )
    return (PdfAsset if claim == "application/pdf" else ImageAsset).from_url(address)


def _remade(kind: type[MediaAsset], state: dict[str, Any]) -> MediaAsset:
    return kind._make(**state)


def _notes(name: str | None, claim: str | None, mime_type: str) -> tuple[str, ...]:
    notes = []
    noun = with_article(NAMES[mime_type])
    by_name = suffix_type(name or "")
    if name and by_name and _family(by_name) != _family(mime_type):
        notes.append(f"{short(name)} holds {noun}; it is sent as {mime_type}.")
    declared = normal_mime_type(claim) if claim else ""
    if declared and _family(declared) != _family(mime_type):
        shown = short(declared, 60)
        notes.append(f"It was declared as {shown}, but holds {noun}; it is sent as {mime_type}.")
    return tuple(notes)


def _family(mime_type: str) -> str:
    return "image/heif" if mime_type == "image/heic" else mime_type


def _binary_size(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":  # noqa: PLR2004 (bytes in a KB)
            break
        size /= 1024
    return f"{count}B" if unit == "B" else f"{size:.1f}{unit}"


def _decimal_size(count: int) -> str:
    if count < 1000:  # noqa: PLR2004 (bytes in a kB)
        return f"{count} bytes"
    if count < 999_500:  # noqa: PLR2004 (where it would round to 1000 kB)
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"
