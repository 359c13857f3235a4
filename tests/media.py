"""Small real attachments, made here, and blocks that hold them."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.messages import MediaMessageBlock

__all__ = ["ImageAsset", "PdfAsset", "block", "every_image", "every_pdf", "pdf", "png"]


def png(color: str = "red", size: tuple[int, int] = (3, 2), kind: str = "PNG") -> bytes:
    """Return a picture of one colour, encoded."""
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, kind)
    return out.getvalue()


def pdf(text: str = "Total 42.00") -> bytes:
    """Return a PDF of one page that says `text`."""
    stream = f"BT /F1 24 Tf 20 50 Td ({text}) Tj ET".encode()
    fonts = b"/Resources << /Font << /F1 5 0 R >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 100] /Contents 4 0 R %s >>" % fonts,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    out.write(b"xref\n0 6\n0000000000 65535 f \n")
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % table)
    return out.getvalue()


def block(asset: MediaAsset, field_name: str = "receipt", number: int = 1) -> MediaMessageBlock:
    """Return a block for `asset`, tagged as the prompts tag it."""
    tag = f"[{field_name}_{number} {field_name}]"
    return MediaMessageBlock(asset=asset, field_name=field_name, tag=tag)


def every_image(folder: Path) -> dict[str, ImageAsset]:
    """Return one image asset of each source."""
    path = folder / "photo.png"
    path.write_bytes(png())
    return {
        "path": ImageAsset.from_path(path),
        "bytes": ImageAsset.from_bytes(png("blue"), filename="blue.png"),
        "base64": ImageAsset.from_base64("data:image/png;base64," + _base64(png("green"))),
        "url": ImageAsset.from_url("https://example.com/a.png"),
        "file_id": ImageAsset.from_file_id("file-abc123"),
    }


def every_pdf(folder: Path) -> dict[str, PdfAsset]:
    """Return one PDF asset of each source."""
    path = folder / "bill.pdf"
    path.write_bytes(pdf())
    return {
        "path": PdfAsset.from_path(path),
        "bytes": PdfAsset.from_bytes(pdf("b"), filename="b.pdf"),
        "base64": PdfAsset.from_base64(_base64(pdf("c"))),
        "url": PdfAsset.from_url("https://example.com/a.pdf"),
        "file_id": PdfAsset.from_file_id("file-def456"),
    }


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()
