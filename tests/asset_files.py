"""Small valid files of every kind that may be attached, made by Pillow or by hand."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

DATA = Path(__file__).parent / "data"

IMAGE_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
    "BMP": "image/bmp",
    "TIFF": "image/tiff",
    "AVIF": "image/avif",
}

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="9"/></svg>'


def picture(size: tuple[int, int] = (60, 40), mode: str = "RGB") -> Image.Image:
    """A picture whose left upper corner is red and whose other corners are not."""
    made = Image.new("RGB", size, "#204060")
    draw = ImageDraw.Draw(made)
    draw.rectangle((0, 0, size[0] // 4, size[1] // 4), fill="red")
    draw.line((0, size[1] - 1, size[0] - 1, 0), fill="white")
    return made.convert(mode)


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    sink = io.BytesIO()
    image.save(sink, kind, **options)
    return sink.getvalue()


def image_file(kind: str, size: tuple[int, int] = (60, 40), **options: Any) -> bytes:
    return encoded(picture(size), kind, **options)


def animation(kind: str, frames: int = 3) -> bytes:
    images = [Image.new("RGB", (20, 10), color) for color in ("red", "green", "blue")[:frames]]
    return encoded(images[0], kind, save_all=True, append_images=images[1:], duration=100)


def turned(kind: str, orientation: int, size: tuple[int, int] = (60, 40)) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(picture(size), kind, exif=exif)


def png_with_size(width: int, height: int) -> bytes:
    """A PNG whose header says so, with too few pixels behind it."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", header),
            chunk(b"IDAT", zlib.compress(bytes(1000))),
            chunk(b"IEND", b""),
        ]
    )


def pdf_file(pages: int = 1, text: str = "Total 12.50", size: str = "0 0 300 400") -> bytes:
    """A PDF with a text layer of one line on each page; "" makes empty pages."""
    objects: list[bytes] = []
    kids = " ".join(f"{3 + 2 * page} 0 R" for page in range(pages))
    objects.append(b"<</Type/Catalog/Pages 2 0 R>>")
    objects.append(f"<</Type/Pages/Kids[{kids}]/Count {pages}>>".encode())
    for page in range(pages):
        body = f"BT /F1 24 Tf 30 300 Td ({text} p{page + 1}) Tj ET" if text else "0 0 9 9 re f"
        font = "/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
        place = f"/Parent 2 0 R/MediaBox[{size}]/Contents {4 + 2 * page} 0 R"
        objects.append(f"<</Type/Page{place}{font}>>".encode())
        objects.append(stream(body.encode()))
    return pdf_of(objects)


def stream(body: bytes, extra: str = "") -> bytes:
    return f"<</Length {len(body)}{extra}>>stream\n".encode() + body + b"\nendstream"


def pdf_of(objects: list[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1, the first its catalogue."""
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer\n<</Root 1 0 R/Size {len(objects) + 1}>>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(out)


def every_file() -> dict[str, bytes]:
    """One valid file of each family, by the family's MIME type."""
    files = {mime: image_file(kind) for kind, mime in IMAGE_TYPES.items()}
    files["image/heic"] = (DATA / "tiny.heic").read_bytes()
    files["image/svg+xml"] = SVG
    files["application/pdf"] = pdf_file(2)
    return files
