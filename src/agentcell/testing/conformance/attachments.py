"""Nothing, to the smallest files that are a picture and a document."""

from __future__ import annotations

import struct
import zlib


def _png() -> bytes:
    """Return a picture of 3 × 2 red pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)
    rows = (b"\x00" + b"\xff\x00\x00" * 3) * 2
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def _pdf() -> bytes:
    """Return a document of one page that says what a receipt does."""
    words = b"BT /F1 24 Tf 20 50 Td (Total 42.00) Tj ET"
    fonts = b"/Resources << /Font << /F1 5 0 R >> >>"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 100] /Contents 4 0 R %s >>" % fonts,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(words), words),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    data = b"%PDF-1.4\n"
    table = b"xref\n0 6\n0000000000 65535 f \n"
    for number, body in enumerate(objects, 1):
        table += b"%010d 00000 n \n" % len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    trailer = b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return data + table + trailer % len(data)


PNG = _png()
PDF = _pdf()
