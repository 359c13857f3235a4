"""What images and PDFs have in common: where they come from, what they hold, who they are."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, ClassVar, Literal, Self, TypeAlias, cast

from agentcell.assets import words
from agentcell.assets.address import checked_file_id, checked_url, declared_type, url_filename
from agentcell.assets.content import Content
from agentcell.assets.encoded import decode_text
from agentcell.assets.facts import MAX_PDF_BYTES, Facts, facts_of
from agentcell.assets.intake import local_path, read_path
from agentcell.assets.sniff import NAMES, with_article
from agentcell.assets.wording import a_type, clean_name, short
from agentcell.errors import AttachmentError
from agentcell.modality import FieldModality

_NOTHING = Facts("")

SourceKind: TypeAlias = Literal["path", "bytes", "base64", "url", "file_id"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False, weakref_slot=True)
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
    identity
        What `fingerprint` returns.
    snapshot, facts
        The content and what is known of it; None, and nothing, for an address or file id.
    made_from
        Of a converted copy: what it was made of, and how. Its own content may differ from machine
        to machine, since codecs do; this does not.
    detail
        How closely a model is to look at the image, ``high`` or ``original``; empty: as it usually
        does. Providers without such a choice are told nothing of it.
    """

    modality: ClassVar[FieldModality]

    source_kind: SourceKind
    mime_type: str
    filename: str | None
    identity: str
    notes: tuple[str, ...] = ()
    path: Path | None = None
    url: str | None = None
    file_id: str | None = None
    snapshot: Content | None = None
    facts: Facts = _NOTHING
    made_from: str = ""
    detail: str = ""

    def __init_subclass__(cls) -> None:
        _kinds.setdefault(cls.modality, cls)

    @classmethod
    def from_path(
        cls,
        path: str | os.PathLike[str],
        *,
        mime_type: str | None = None,
        filename: str | None = None,
        follow_links: bool = True,
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
        follow_links
            Whether links on the way to it may be followed; if not, one is an error.

        Raises
        ------
        AttachmentError
            If there is no such file, or it is empty, too large, damaged or of another kind.
        """
        place = local_path(path)
        name = clean_name(filename) or clean_name(place.name)
        shown = short(clean_name(place.name) or str(place))
        content = read_path(place, shown, MAX_PDF_BYTES, follow_links=follow_links)
        return cls._of_content("path", content, name, mime_type, path=place)

    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        *,
        mime_type: str | None = None,
        filename: str | None = None,
    ) -> Self:
        """Take a file's content.

        Parameters
        ----------
        data
            The encoded file, not its pixels.
        mime_type, filename
            As for `from_path`; so are the errors.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise AttachmentError(
                f"{a_type(data, start=True)} was given as a file's content; bytes were expected.",
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

        Parameters
        ----------
        text
            One that is not wholly base64 is an error. The type that a data address claims counts
            as `mime_type`.
        mime_type, filename
            As for `from_path`; so are the other errors.
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

        Parameters
        ----------
        url
            http or https, with a host.
        mime_type
            What it leads to, if that is known.
        filename
            What to call it; the address's last part by default.

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

        Parameters
        ----------
        file_id
            As the upload returned it.
        mime_type, filename
            What it holds and what to call it, if that is known.

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
        notes = words.type_notes(name, claim, facts.mime_type)
        return cast(
            "Self",
            kind(
                source_kind=source_kind,
                mime_type=facts.mime_type,
                filename=name,
                notes=notes,
                path=path,
                snapshot=content,
                facts=facts,
                identity=f"sha256:{content.digest}",
            ),
        )

    @classmethod
    def _kind_for(cls, facts: Facts, shown: str) -> type[MediaAsset]:
        holder = _kinds[facts.modality]
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
        if cls is MediaAsset:
            return "an image or a PDF"
        return "a PDF" if cls.modality is FieldModality.PDF else "an image"

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
        return cls(
            source_kind=source_kind,
            mime_type=declared_type(claim, is_pdf=cls.modality is FieldModality.PDF),
            filename=filename,
            url=value if source_kind == "url" else None,
            file_id=value if source_kind == "file_id" else None,
            identity=f"{source_kind}:{hashlib.sha256(value.encode()).hexdigest()}",
        )

    def replaced(self, *, filename: str | None, notes: tuple[str, ...]) -> Self:
        """Return the same content under another name, with other notes.

        Parameters
        ----------
        filename, notes
            In the place of the asset's own.
        """
        return replace(self, filename=clean_name(filename), notes=notes)

    @property
    def size_bytes(self) -> int | None:
        """Of the encoded file; None for an address or file id."""
        return self.snapshot.size_bytes if self.snapshot else None

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
        return self.identity

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
    def content(self) -> Content:
        """The snapshot of the file.

        Raises
        ------
        AttachmentError
            For an address or file id: nothing is fetched.
        """
        if self.snapshot is None:
            where = "an address" if self.source_kind == "url" else "a file id"
            raise AttachmentError(
                f"{words.label(self)} is {where}; its content is not here.",
                fix="download it and attach the file by its path.",
            )
        return self.snapshot

    @property
    def default_filename(self) -> str:
        """The filename, or one made of the type: ``image.png``, ``document.pdf``."""
        return words.default_filename(self)

    def prompt_summary(self) -> str:
        """Return the asset as it reads within a prompt: ``[IMAGE: a.png, 69B]``."""
        return words.summary(self)

    def describe(self) -> str:
        """Return type, pixels or pages, and size: ``PNG image, 600 × 900 px, 30 kB``."""
        return words.description(self)

    def __repr__(self) -> str:
        return words.representation(self)

    def _repr_mimebundle_(
        self,
        include: object = None,  # noqa: ARG002 (IPython gives it)
        exclude: object = None,  # noqa: ARG002 (IPython gives it)
    ) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """Show a thumbnail, and the words of `describe`; never the file itself."""
        from agentcell.assets.preview import display_bundle

        return display_bundle(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MediaAsset):
            return NotImplemented
        return (self.modality, self.identity) == (other.modality, other.identity)

    def __hash__(self) -> int:
        return hash((self.modality.value, self.identity))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


_kinds: dict[FieldModality, type[MediaAsset]] = {}
