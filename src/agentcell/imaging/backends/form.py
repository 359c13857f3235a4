"""Fields and files → the body of a form (multipart/form-data), read from disk as it goes out."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentcell.adapters.body import Body, checked
from agentcell.assets.asset import MediaAsset
from agentcell.assets.content import Content
from agentcell.assets.sniff import EXTENSIONS


@dataclass(frozen=True, slots=True)
class FormBody(Body):
    """A body whose contents go out as they are, not as base64."""

    def _wire_size(self, content: Content) -> int:
        return content.size_bytes

    def _wire(self, content: Content) -> Iterator[bytes]:
        return checked(content)


def form_of(
    fields: Mapping[str, str], files: Sequence[tuple[str, MediaAsset]]
) -> tuple[FormBody, str]:
    """Return a form's body and its content type.

    Parameters
    ----------
    fields
        Texts, by name.
    files
        Names, and what is sent under them; a name may come several times.
    """
    boundary = f"agentcell-{secrets.token_hex(16)}"
    pieces: list[bytes | Content] = []
    for name, value in fields.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
        pieces.append(f"{head}{value}\r\n".encode("utf-8", "replace"))
    for number, (name, asset) in enumerate(files):
        # A name of our own: what a file is called is nobody's business there.
        filename = f"image-{number}.{EXTENSIONS[asset.mime_type]}"
        disposition = f'form-data; name="{name}"; filename="{filename}"'
        head = (
            f"--{boundary}\r\nContent-Disposition: {disposition}\r\n"
            f"Content-Type: {asset.mime_type}\r\n\r\n"
        )
        pieces += [head.encode(), asset.content, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return FormBody(tuple(pieces)), f"multipart/form-data; boundary={boundary}"
