"""What each provider takes in one request: types, bytes, pixels, pages and counts.

Read at the providers' documentation on 2026-11-29: developers.openai.com/api/docs (images and
vision; file inputs), platform.claude.com/docs/en/build-with-claude/vision and /pdf-support,
ai.google.dev/gemini-api/docs/file-input-methods. Where the pages of one provider differ, the
larger number stands here: the service refuses what is too much in its own words, while a limit
that is too low here would refuse what it takes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from agentcell.assets.sniff import NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """The media that one request may hold.

    Parameters
    ----------
    provider
        As people call it, for notes and errors.
    image_types
        MIME types of images that are taken.
    animated_types
        Those that may have more than one frame.
    image_bytes
        The most bytes of one image's file (not of its base64).
    image_side
        The most pixels on a side; None if there is no limit.
    many_images, many_images_side
        With more images than the first, the second is the limit of pixels on a side.
    images
        The most images in a request.
    pdf
        Whether PDFs are taken.
    pdf_bytes, pdf_pages
        The most bytes and pages of one PDF.
    request_bytes
        The most bytes of all media in a request, as base64.
    as_stored
        Whether the reader turns pictures by their EXIF orientation and converts colours itself.
    """

    provider: str
    image_types: frozenset[str]
    animated_types: frozenset[str] = frozenset()
    image_bytes: int
    image_side: int | None = None
    many_images: int | None = None
    many_images_side: int | None = None
    images: int
    pdf: bool = True
    pdf_bytes: int
    pdf_pages: int | None = None
    request_bytes: int
    as_stored: bool = False

    def __repr__(self) -> str:
        return f"MediaLimits({self.provider!r:.80})"


_WEB = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})

OPENAI = MediaLimits(
    provider="OpenAI",
    image_types=_WEB,
    image_bytes=384_000_000,  # as base64 it fills the request
    images=1500,
    pdf_bytes=50_000_000,
    request_bytes=512_000_000,
)

OPENAI_CHAT = MediaLimits(
    provider="A Chat Completions server",
    image_types=_WEB,
    image_bytes=384_000_000,
    images=1500,
    pdf=False,
    pdf_bytes=50_000_000,
    request_bytes=512_000_000,
)

ANTHROPIC = MediaLimits(
    provider="Anthropic",
    image_types=_WEB,
    image_bytes=7_500_000,  # 10 MB as base64
    image_side=8000,
    many_images=20,
    many_images_side=2000,
    images=600,
    pdf_bytes=24_000_000,  # 32 MB as base64
    pdf_pages=600,
    request_bytes=32_000_000,
)

GEMINI = MediaLimits(
    provider="Gemini",
    image_types=frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}),
    image_bytes=75_000_000,  # 100 MB as base64
    images=3600,
    pdf_bytes=50_000_000,
    pdf_pages=1000,
    request_bytes=100_000_000,
)

UNLIMITED = MediaLimits(
    provider="The model",
    image_types=frozenset(NAMES) - {"application/pdf"},
    animated_types=frozenset(NAMES),
    image_bytes=sys.maxsize,
    images=sys.maxsize,
    pdf_bytes=sys.maxsize,
    request_bytes=sys.maxsize,
    as_stored=True,
)
"""Of a model that reads files itself, or of which nothing is known: all goes out as it is."""

LIMITS = {"openai": OPENAI, "openai-chat": OPENAI_CHAT, "anthropic": ANTHROPIC, "gemini": GEMINI}
"""By the name of the protocol."""
