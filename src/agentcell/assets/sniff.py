"""The first bytes of a file -> what it holds, by content and never by name."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD_BYTES = 65_536
"""How much of a file `sniff` wants to see; an SVG may begin with a long comment."""

PDF_JUNK_BYTES = 1024
"""Readers accept this much before ``%PDF-`` (ISO 32000-1, annex H, note 13)."""

NAMES = {
    "image/png": "PNG image",
    "image/jpeg": "JPEG image",
    "image/gif": "GIF image",
    "image/webp": "WebP image",
    "image/bmp": "BMP image",
    "image/tiff": "TIFF image",
    "image/heic": "HEIC image",
    "image/heif": "HEIF image",
    "image/avif": "AVIF image",
    "image/svg+xml": "SVG image",
    "application/pdf": "PDF",
}
"""Every type that may be attached, with what people call it."""

EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/bmp": "bmp",
    "image/tiff": "tif",
    "image/heic": "heic",
    "image/heif": "heif",
    "image/avif": "avif",
    "image/svg+xml": "svg",
    "application/pdf": "pdf",
}
"""The usual ending of a file of each type."""

SUFFIX_TYPES = {ending: kind for kind, ending in EXTENSIONS.items()} | {
    "jpeg": "image/jpeg",
    "jpe": "image/jpeg",
    "jfif": "image/jpeg",
    "tiff": "image/tiff",
    "dib": "image/bmp",
    "hif": "image/heif",
}
"""What the ending of a name claims; only ever compared with the content, never believed."""

_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "image/apng": "image/png",
    "image/x-ms-bmp": "image/bmp",
    "image/x-bmp": "image/bmp",
    "image/tif": "image/tiff",
    "image/svg": "image/svg+xml",
    "application/x-pdf": "application/pdf",
}

# The brands of ISO base media files (`ftyp` box) that hold still pictures: the registry at
# https://mp4ra.org/registered-types/brands, read 2026-11-29.
_AVIF_BRANDS = {b"avif", b"avis"}
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"}
_HEIF_BRANDS = {b"mif1", b"mif2", b"msf1", b"miaf"}

_BMP_HEADERS = {12, 16, 40, 52, 56, 64, 108, 124}

# Seen often enough, when something else was meant, to be named.
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\x00", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x00\x00\x01\x00", "an icon (ICO)"),
    (b"8BPS", "a Photoshop file (PSD)"),
    (b"\xff\x0a", "a JPEG XL image"),
    (b"\x00\x00\x00\x0cJXL \r\n\x87\n", "a JPEG XL image"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "a JPEG 2000 image"),
    (b"\xff\x4f\xff\x51", "a JPEG 2000 image"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"{\\rtf", "a rich text document (RTF)"),
    (b"%!PS", "a PostScript file"),
    (b"\xc5\xd0\xd3\xc6", "a PostScript file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x93NUMPY", "a NumPy array file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"PAR1", "a Parquet file"),
    (b"ID3", "an audio file (MP3)"),
    (b"OggS", "an Ogg media file"),
    (b"fLaC", "an audio file (FLAC)"),
    (b"\x1aE\xdf\xa3", "a Matroska or WebM video"),
    (b"FLV\x01", "a Flash video"),
    (b"\x7fELF", "a program (ELF)"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"GGUF", "model weights (GGUF)"),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a file holds.

    Parameters
    ----------
    mime_type
        One of `NAMES`, or "" for everything that cannot be attached.
    noun
        As it reads after "holds": ``"a PNG image"``, ``"text"``.
    """

    mime_type: str
    noun: str


def sniff(head: bytes) -> Seen:
    """Tell what a file holds from its first bytes.

    Parameters
    ----------
    head
        The first `HEAD_BYTES` bytes, or all of a shorter file.
    """
    kind = _image(head)
    if not kind and head.startswith(b"%PDF-"):
        kind = "application/pdf"
    if kind:
        return Seen(kind, with_article(NAMES[kind]))
    markup = _markup(head)
    if markup == "svg":
        return Seen("image/svg+xml", "an SVG image")
    if not markup and re.search(rb"%PDF-\d", head[: PDF_JUNK_BYTES + 6]):
        return Seen("application/pdf", "a PDF")
    return Seen("", _other(head, markup))


def normal_mime_type(claim: str) -> str:
    """Return a declared type in its usual spelling, without parameters: ``image/jpeg``."""
    plain = claim.split(";", 1)[0].strip().lower()
    return _ALIASES.get(plain, plain)


def suffix_type(name: str) -> str:
    """Return the type that a file's name claims, or ""."""
    stem, dot, ending = name.rpartition(".")
    return SUFFIX_TYPES.get(ending.lower(), "") if stem and dot else ""


def with_article(noun: str) -> str:
    """Return ``"a PNG image"`` for ``"PNG image"``; ``an`` where it is spoken so."""
    return f"{'an' if noun.startswith(('AVIF', 'SVG', 'image')) else 'a'} {noun}"


def _image(head: bytes) -> str:  # noqa: PLR0911 (one for each type)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    if head.startswith((b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")):
        return "" if head[8:10] == b"CR" else "image/tiff"  # Canon's raw files are TIFF inside
    if head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "image/bmp"
    if head[4:8] == b"ftyp":
        return _iso_image(head)
    return ""


def _iso_image(head: bytes) -> str:
    size = min(int.from_bytes(head[:4], "big"), len(head), 512)
    brands = {head[8:12]} | {head[at : at + 4] for at in range(16, size - 3, 4)}
    major = head[8:12]
    for kind, family in (("image/avif", _AVIF_BRANDS), ("image/heic", _HEIC_BRANDS)):
        if major in family or (major in _HEIF_BRANDS and brands & family):
            return kind
    return "image/heif" if major in _HEIF_BRANDS else ""


_SKIPPED = r"""
        \s+
      | <\?.*?\?>                                     # <?xml ...?> and other instructions
      | <!--.*?-->
      | <!DOCTYPE\b(?: [^\[\]>"'] | "[^"]*" | '[^']*' | \[ (?: [^\]"'] | "[^"]*" | '[^']*' )* \] )*>
"""
_ELEMENT = r"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)(?=[\s/>]|$)"


def from_first_element(head: bytes) -> str:
    """Return the text from its first element on, past declarations and comments, or ""."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = head[: len(head) // 2 * 2].decode("utf-16", "replace")
    elif b"\x00" in head[:256]:
        return ""
    else:
        text = head.decode("utf-8-sig", "replace")
    skipped = re.compile(_SKIPPED, re.VERBOSE | re.DOTALL | re.IGNORECASE)
    at = 0
    while found := skipped.match(text, at):
        at = found.end()
    return text[at:]


def _markup(head: bytes) -> str:
    """Return the name of the first element, in lower case, or "" where there is none."""
    element = re.match(_ELEMENT, from_first_element(head))
    return element[1].lower() if element else ""


def _other(head: bytes, markup: str) -> str:  # noqa: PLR0911 (one for each type)
    if head.startswith(b"PK\x03\x04"):
        for part, noun in (
            (b"word/", "a Word document (docx)"),
            (b"ppt/", "a PowerPoint document (pptx)"),
            (b"xl/", "an Excel workbook (xlsx)"),
            (b"mimetypeapplication/epub+zip", "an e-book (EPUB)"),
            (b"mimetypeapplication/vnd.oasis", "an OpenDocument file"),
        ):
            if part in head[:4096]:
                return noun
    for magic, noun in _OTHERS:
        if head.startswith(magic):
            return noun
    if head[4:8] == b"ftyp":
        return "a video (MP4 or QuickTime)"
    if head.startswith(b"RIFF"):
        return {b"WAVE": "an audio file (WAV)", b"AVI ": "a video (AVI)"}.get(
            head[8:12], "a RIFF media file"
        )
    if markup == "html" or re.match(rb"(?:\xef\xbb\xbf)?\s*<!doctype html", head, re.IGNORECASE):
        return "a web page (HTML)"
    if markup and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml"):
        return f"XML (<{markup[:20]}>)"
    return "text" if _is_text(head) else "data of an unknown kind"


def _is_text(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    if any(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head[:4096]):  # noqa: PLR2004 (blank)
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 4  # a character cut in two at the end
    return True
