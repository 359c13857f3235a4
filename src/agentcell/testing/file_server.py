"""Uploads, to files on a shelf, in the words of three Files API: OpenAI's, Anthropic's, Gemini's.

Every scripted server has one, as `files`. It keeps what is sent, and a question that names a file
which is no longer there is refused as its service would do it.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agentcell.testing.replies import Reply, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcell.testing.provider_server import ProviderServer

_JSON = {"content-type": "application/json"}

_CREATED = 1_790_000_000
"""Seconds since 1970, by the service's clock: another than that of this machine."""

_KEPT = 48 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file on the shelf; `fields` are what came beside it, `at` when it came."""

    file_id: str
    data: bytes
    filename: str
    mime_type: str
    fields: Mapping[str, str] = field(default_factory=dict)
    at: float = field(default_factory=time.monotonic)

    def __repr__(self) -> str:
        return f"StoredFile({self.file_id!r}, {self.filename!r:.40}, {len(self.data):,} bytes)"


class FileShelf:
    """A service's Files API.

    Attributes
    ----------
    stored
        What is there, by its id.
    taken
        All that ever came, in order.
    deleted
        The ids that were asked to be deleted, in order.
    requests
        Each request about files: method, path and headers, without a body.
    lifetime
        Seconds that the service says it keeps a file, or None: as asked.
    in_process
        How many looks at a file say that it is in process (Gemini).
    unreadable
        What the service then says of a file that it cannot read (Gemini); empty: nothing.
    delay
        Seconds before each answer.
    hold
        Whether content is never read: an upload then stands still.
    uploading
        Set when content began to come.
    """

    def __init__(self, server: ProviderServer, kind: str) -> None:
        self._server = server
        self._kind = kind
        self._lock = threading.Lock()
        self._planned: list[Reply] = []
        self._begun: dict[str, dict[str, Any]] = {}
        self._looks: dict[str, int] = {}
        self._gone: dict[str, StoredFile] = {}
        self.stored: dict[str, StoredFile] = {}
        self.taken: list[StoredFile] = []
        self.deleted: list[str] = []
        self.requests: list[Request] = []
        self.lifetime: float | None = None
        self.in_process = 0
        self.unreadable = ""
        self.delay = 0.0
        self.hold = False
        self.uploading = threading.Event()

    def then(self, *replies: Reply) -> None:
        """Answer the next requests about files so; those after them are served again.

        Parameters
        ----------
        replies
            With ``raw`` and a status, or with a fault.
        """
        with self._lock:
            self._planned = list(replies)

    def fail(self, status: int, message: str = "no", **error: Any) -> None:
        """Refuse the next request about files, as the service does.

        Parameters
        ----------
        status, message, error
            As for `ProviderServer.fail`.
        """
        self._planned.append(self._refusal(status, message, **error))

    def lose(self, *file_ids: str) -> None:
        """Have files deleted by the service itself.

        Parameters
        ----------
        file_ids
            None: all.
        """
        with self._lock:
            for file_id in file_ids or tuple(self.stored):
                self._gone[file_id] = self.stored.pop(file_id)

    def concerns(self, method: str, path: str) -> bool:
        """Return whether a request is about files.

        Parameters
        ----------
        method, path
            Of the request.
        """
        ways = {
            "openai": r"/v1/files(/[^/]+)?",
            "anthropic": r"/v1/files(/[^/]+)?",
            "gemini": r"(/upload)?/v1(beta)?/files(/[^/]+)?",
        }
        way = ways.get(self._kind)
        bare = path.split("?", maxsplit=1)[0]
        return (
            way is not None
            and method in {"POST", "GET", "DELETE"}
            and (re.fullmatch(f"(/v1)?{way}", bare) is not None)
        )

    def answer(self, request: Request, data: bytes) -> Reply:
        """Record a request about files and return what the service answers.

        Parameters
        ----------
        request
            For which `concerns` is true.
        data
            Its body.
        """
        time.sleep(self.delay)
        with self._lock:
            self.requests.append(request)
            if self._planned:
                return self._planned.pop(0)
            if refused := self._wrong_key(request):
                return refused
            name = request.path.split("?")[0].rpartition("/files")[2].strip("/")
            if request.method == "POST":
                return (
                    self._took_gemini(request, data)
                    if self._is_gemini
                    else self._took(request, data)
                )
            return self._deletion(name) if request.method == "DELETE" else self._look(name)

    def lost(self, request: Request) -> Reply | None:
        """Return the refusal of a question that names a file which is no longer there, or None.

        Parameters
        ----------
        request
            The question.
        """
        text = json.dumps(request.body, default=str)
        with self._lock:
            missing = next((one for one in self._gone if f'{self._quoted(one)}"' in text), None)
        return None if missing is None else self._missing(missing)

    @property
    def _is_gemini(self) -> bool:
        return self._kind == "gemini"

    def _quoted(self, file_id: str) -> str:
        return f"/{file_id}" if self._is_gemini else f'"{file_id}'

    def _wrong_key(self, request: Request) -> Reply | None:
        if "upload_id=" in request.path:  # the address itself is the permission
            return None
        if self._server.takes_key(request):
            return None
        return self._refusal(401, "Incorrect API key provided.")

    def _took(self, request: Request, data: bytes) -> Reply:
        fields, (filename, mime_type, content) = _form(request.headers["content-type"], data)
        number = len(self.taken) + 1
        prefix = "file-" if self._kind == "openai" else "file_011"
        file = StoredFile(
            file_id=f"{prefix}{hashlib.sha256(content).hexdigest()[:12]}{number}",
            data=content,
            filename=filename,
            mime_type=mime_type,
            fields=fields,
        )
        return self._kept(file)

    def _took_gemini(self, request: Request, data: bytes) -> Reply:
        headers = request.headers
        if headers.get("x-goog-upload-command") == "start":
            token = f"t{len(self._begun) + 1}"
            self._begun[token] = {
                "file": (json.loads(data) if data else {}).get("file", {}),
                "size": int(headers["x-goog-upload-header-content-length"]),
                "type": headers["x-goog-upload-header-content-type"],
            }
            # Google's own address, as behind a gateway.
            address = f"https://generativelanguage.googleapis.com{request.path}?upload_id={token}"
            told = {"x-goog-upload-url": address, "x-goog-upload-status": "active"}
            return Reply(raw="{}", headers={**_JSON, **told})
        begun = self._begun[request.path.rpartition("=")[2]]
        if len(data) != begun["size"] or headers.get("x-goog-upload-offset") != "0":
            return self._refusal(400, "The content is not as long as was said.")
        name = f"files/{hashlib.sha256(data).hexdigest()[:12]}{len(self.taken) + 1}"
        file = StoredFile(
            file_id=name,
            data=data,
            # Both spellings mean the same to it; its own client writes the second.
            filename=str(begun["file"].get("displayName") or begun["file"].get("display_name", "")),
            mime_type=begun["type"],
        )
        return self._kept(file)

    def _kept(self, file: StoredFile) -> Reply:
        self.stored[file.file_id] = file
        self.taken.append(file)
        told = self._told(file)
        if not self._is_gemini:
            return _json(told)
        headers = {**_JSON, "x-goog-upload-status": "final"}
        return Reply(raw=json.dumps({"file": told}), headers=headers)

    def _look(self, name: str) -> Reply:
        file = self.stored.get(f"files/{name}" if self._is_gemini else name)
        if file is None:
            return self._missing(name)
        self._looks[file.file_id] = self._looks.get(file.file_id, 0) + 1
        return _json(self._told(file))

    def _deletion(self, name: str) -> Reply:
        file_id = f"files/{name}" if self._is_gemini else name
        self.deleted.append(file_id)
        if (file := self.stored.pop(file_id, None)) is None:
            return self._missing(file_id)
        self._gone[file_id] = file
        if self._is_gemini:
            return _json({})
        if self._kind == "anthropic":
            return _json({"id": file_id, "type": "file_deleted"})
        return _json({"id": file_id, "object": "file", "deleted": True})

    def _missing(self, file_id: str) -> Reply:
        if self._is_gemini:
            name = file_id.rpartition("/")[2]
            words = f"You do not have permission to access the File {name} or it may not exist."
            return self._refusal(403, words)
        if self._kind == "anthropic":
            return self._refusal(404, f"File not found: {file_id}")
        return self._refusal(404, f"No such File object: {file_id}", type="invalid_request_error")

    def _told(self, file: StoredFile) -> dict[str, Any]:
        size = len(file.data)
        if self._is_gemini:
            return {
                "name": file.file_id,
                "displayName": file.filename,
                "mimeType": file.mime_type,
                "sizeBytes": str(size),
                "createTime": _rfc3339(_CREATED),
                "expirationTime": _rfc3339(_CREATED + (self.lifetime or _KEPT)),
                "uri": f"https://generativelanguage.googleapis.com/v1beta/{file.file_id}",
                **self._state(file),
            }
        if self._kind == "anthropic":
            asked = file.fields.get("expires_in_seconds")
            seconds = self.lifetime or (float(asked) if asked else None)
            return {
                "id": file.file_id,
                "type": "file",
                "filename": file.filename,
                "mime_type": file.mime_type,
                "size_bytes": size,
                "created_at": _rfc3339(_CREATED),
                "expires_at": None if seconds is None else _rfc3339(_CREATED + seconds),
                "downloadable": False,
            }
        asked = file.fields.get("expires_after[seconds]")
        seconds = self.lifetime or (float(asked) if asked else None)
        return {
            "id": file.file_id,
            "object": "file",
            "bytes": size,
            "created_at": _CREATED,
            "expires_at": None if seconds is None else _CREATED + int(seconds),
            "filename": file.filename,
            "purpose": file.fields.get("purpose", ""),
            "status": "processed",
        }

    def _state(self, file: StoredFile) -> dict[str, Any]:
        if self._looks.get(file.file_id, 0) <= self.in_process and self.in_process:
            return {"state": "PROCESSING"}
        if self.unreadable:
            return {"state": "FAILED", "error": {"code": 3, "message": self.unreadable}}
        return {"state": "ACTIVE"}

    def _refusal(self, status: int, message: str, **error: Any) -> Reply:
        body = json.dumps(self._server.error_document(status, message, error))
        return Reply(status=status, headers=_JSON, raw=body)


def _json(body: Mapping[str, Any]) -> Reply:
    return Reply(raw=json.dumps(body), headers=_JSON)


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _form(kind: str, data: bytes) -> tuple[dict[str, str], tuple[str, str, bytes]]:
    """Return the fields of a multipart body, and its file: name, type and content."""
    boundary = kind.partition("boundary=")[2].strip('"').encode()
    fields: dict[str, str] = {}
    file = ("", "", b"")
    for part in data.split(b"--" + boundary)[1:-1]:
        head, _, body = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        content = body.removesuffix(b"\r\n")
        text = head.decode()
        name = re.search(r'[ ;]name="([^"]*)"', text)
        filename = re.search(r'filename="([^"]*)"', text)
        mime_type = re.search(r"(?i)content-type: *(\S+)", text)
        if filename is not None:
            file = (filename[1], mime_type[1] if mime_type else "", content)
        elif name is not None:
            fields[name[1]] = content.decode()
    return fields, file
