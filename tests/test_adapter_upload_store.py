"""Uploaded files: sent as the services' own clients do, listed, deleted, shared by processes."""

from __future__ import annotations

import asyncio
import copy
import io
import json
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import media
from agentcell.adapters.local_servers import LlamaCppModel, LMStudioModel, OllamaModel, VLLMModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.upload_form import upload_name
from agentcell.adapters.upload_store import UPLOADS, UploadStore
from agentcell.errors import (
    BadRequest,
    ServiceError,
    Timeout,
    Unsupported,
)
from agentcell.testing import GeminiServer, ProviderServer, Reply, ResponsesServer
from upload_services import (
    ANTHROPIC,
    GEMINI,
    KEY,
    OLDEST_SECONDS,
    OPENAI,
    SERVICES,
    UPLOAD_HEADERS,
    Service,
    document,
    each_service,
    everything_said,
    file_requests,
    made,
    picture,
    question,
)


@pytest.fixture
def server(service: Service) -> Iterator[ProviderServer]:
    with service.server(key=KEY) as running:
        yield running


# -- Gemini's files in process ---------------------------------------------------------------


def test_a_file_in_process_is_waited_for() -> None:
    with GeminiServer(key=KEY) as server:
        server.files.in_process = 2

        made(GEMINI, server).invoke(question(document()))

        looks = [path for method, path in file_requests(server) if method == "GET"]
        assert looks == [f"/v1/{server.files.taken[0].file_id}"] * 3
        assert len(server.bodies) == 1


def test_a_file_that_cannot_be_read_is_an_error_and_is_deleted() -> None:
    with GeminiServer(key=KEY) as server:
        server.files.in_process = 1
        server.files.unreadable = "The document has no pages."
        model = made(GEMINI, server)

        with pytest.raises(BadRequest, match="could not read the file: The document has no pages"):
            model.invoke(question(document()))

        assert server.files.stored == {}
        assert model.uploads() == []
        assert server.bodies == []


def test_a_file_that_stays_in_process_is_given_up() -> None:
    with GeminiServer(key=KEY) as server:
        server.files.in_process = 1000
        model = made(GEMINI, server, timeout=0.5)

        with pytest.raises(Timeout, match="in process"):
            model.invoke(question(document()))

        assert server.files.stored == {}


def test_a_look_that_fails_is_repeated_without_a_second_upload() -> None:
    with GeminiServer(key=KEY) as server:
        server.files.in_process = 1
        model = made(GEMINI, server)
        busy = Reply(status=503, raw="busy", headers={"retry-after": "0"})

        def fail_first_look() -> None:
            while not server.files.taken:
                time.sleep(0.005)
            server.files.then(busy)

        server.files.delay = 0.05
        watcher = threading.Thread(target=fail_first_look)
        watcher.start()
        model.invoke(question(document()))
        watcher.join()

        assert len(server.files.taken) == 1


def test_the_key_goes_to_google_but_not_to_the_address_for_the_content() -> None:
    with GeminiServer(key=KEY) as server:
        made(GEMINI, server, extra_headers={"x-team": "seven"}).invoke(question(document()))

        start, content = server.files.requests
        assert start.headers["x-goog-api-key"] == KEY
        assert start.headers["x-team"] == "seven"
        assert start.headers["x-goog-upload-protocol"] == "resumable"
        assert start.headers["x-goog-upload-header-content-type"] == "application/pdf"
        assert KEY not in json.dumps(content.headers) + content.path
        assert content.headers["x-goog-upload-command"] == "upload, finalize"
        assert content.headers["content-length"] == str(len(media.pdf()))
        assert "transfer-encoding" not in content.headers


# -- the services as their own clients know them ----------------------------------------------


def sent_by_openais_client(url: str) -> str:
    import openai

    with openai.OpenAI(api_key=KEY, base_url=url, max_retries=0) as client:
        file = client.files.create(
            file=("document.pdf", io.BytesIO(media.pdf()), "application/pdf"),
            purpose="user_data",
            expires_after={"anchor": "created_at", "seconds": OLDEST_SECONDS},
        )
        assert client.files.retrieve(file.id).expires_at == file.created_at + OLDEST_SECONDS
        return file.id


def sent_by_anthropics_client(url: str) -> str:
    import anthropic

    address = url.removesuffix("/v1")
    with anthropic.Anthropic(api_key=KEY, base_url=address, max_retries=0) as client:
        file = client.files.upload(
            file=("document.pdf", io.BytesIO(media.pdf()), "application/pdf"),
            expires_in_seconds=OLDEST_SECONDS,
        )
        told = client.files.retrieve_metadata(file.id)
        assert told.expires_at is not None
        assert (told.expires_at - told.created_at).total_seconds() == OLDEST_SECONDS
        return file.id


def sent_by_googles_client(url: str) -> str:
    from google import genai

    options = genai.types.HttpOptions(base_url=url.removesuffix("/v1"), api_version="v1")
    client = genai.Client(api_key=KEY, http_options=options)
    named = genai.types.UploadFileConfig(
        mime_type="application/pdf", display_name="document.pdf", http_options=options
    )
    file = client.files.upload(file=io.BytesIO(media.pdf()), config=named)
    assert file.name is not None
    assert client.files.get(name=file.name).state == genai.types.FileState.ACTIVE
    client.close()
    return file.name


@pytest.mark.parametrize(
    ("service", "send"),
    [
        (OPENAI, sent_by_openais_client),
        (ANTHROPIC, sent_by_anthropics_client),
        (GEMINI, sent_by_googles_client),
    ],
    ids=["openai", "anthropic", "gemini"],
)
def test_a_file_goes_up_as_the_services_own_client_sends_it(
    service: Service, send: Callable[[str], str]
) -> None:
    with service.server(key=KEY) as server:
        file_id = send(server.url)
        theirs = [request.headers for request in server.files.requests]
        made(service, server).invoke(question(document()))
        ours = [request.headers for request in server.files.requests[len(theirs) :]]

        first, second = server.files.taken
        assert first.file_id == file_id
        assert (first.data, first.filename) == (second.data, second.filename)
        assert (first.mime_type, first.fields) == (second.mime_type, second.fields)
        names = [f"x-goog-upload-{end}" for end in UPLOAD_HEADERS]
        for own, other in zip(ours, theirs, strict=False):  # theirs looked at the file, too
            said = {name: own[name] for name in (*names, "anthropic-version") if name in own}
            assert said == {name: other.get(name) for name in said}
        assert ours[0].get("anthropic-beta") is None


# -- listing and deleting --------------------------------------------------------------------


@each_service
def test_what_was_uploaded_is_listed_and_can_be_deleted(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server)
    model.invoke(question(picture(), document()))
    listed = model.uploads()

    assert {one.file_id for one in listed} == set(server.files.stored)
    assert {one.digest for one in listed} == {picture().fingerprint(), document().fingerprint()}
    assert {one.size_bytes for one in listed} == {picture().size_bytes, len(media.pdf())}
    assert KEY not in repr(listed)

    assert model.delete_uploads() == listed
    assert server.files.stored == {}
    assert model.uploads() == []
    assert model.delete_uploads() == []

    model.invoke(question(picture()))
    assert len(server.files.taken) == 3


@each_service
def test_a_file_that_is_gone_counts_as_deleted(service: Service, server: ProviderServer) -> None:
    model = made(service, server)
    model.invoke(question(picture()))
    server.files.lose()

    assert len(asyncio.run(model.adelete_uploads())) == 1
    assert model.uploads() == []


@each_service
def test_a_deletion_that_fails_is_an_error_and_can_be_asked_for_again(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server, max_retries=0)
    model.invoke(question(picture()))
    server.files.fail(500, f"no, {KEY}")

    with pytest.raises(ServiceError) as caught:
        model.delete_uploads()

    assert KEY not in everything_said(caught.value)
    assert len(model.uploads()) == 1
    model.delete_uploads()
    assert server.files.stored == {}


# -- between processes -----------------------------------------------------------------------

PROCESS = """
import sys
sys.path[:0] = {path!r}
import media
from agentcell.adapters.{module} import {model}
from agentcell.assets.asset import ImageAsset

asset = ImageAsset.from_bytes(media.png({color!r}, (9, 9)), filename="photo.png")
model = {model}("m", {key!r}, {url!r}, upload="always", upload_cache={folder!r})
model.invoke([{{"role": "user", "content": ["?", media.block(asset)]}}])
"""

MODULES = {"responses": "openai_responses", "anthropic": "anthropic", "gemini": "gemini"}


def started(
    service: Service, server: ProviderServer, folder: Path, color: str = "red"
) -> subprocess.Popen[bytes]:
    code = PROCESS.format(
        path=[str(Path(__file__).parent)],
        module=MODULES[service.name],
        model=service.model.__name__,
        color=color,
        key=KEY,
        url=server.url,
        folder=str(folder),
    )
    return subprocess.Popen([sys.executable, "-c", code])


@each_service
def test_the_next_process_knows_what_was_uploaded(
    service: Service, server: ProviderServer, tmp_path: Path
) -> None:
    folder = tmp_path / "notes" / ".agentcell"
    model = made(service, server, upload_cache=folder)
    model.invoke(question(picture()))

    assert started(service, server, folder).wait(60) == 0

    assert len(server.files.taken) == 1
    assert len(server.bodies) == 2
    kept = (folder / "uploads.json").read_text(encoding="utf-8")
    assert server.files.taken[0].file_id in kept
    assert KEY not in kept
    assert server.url not in kept
    assert "photo" not in kept
    if os.name == "posix":
        assert (folder / "uploads.json").stat().st_mode & 0o077 == 0


def test_processes_at_once_lose_nothing_of_each_others(tmp_path: Path) -> None:
    with ResponsesServer(key=KEY) as server:
        running = [started(OPENAI, server, tmp_path, color) for color in ("red", "blue")]
        assert [process.wait(120) for process in running] == [0, 0]

        model = made(OPENAI, server, upload_cache=tmp_path)
        assert {one.file_id for one in model.uploads()} == set(server.files.stored)
        assert len(model.uploads()) == 2
        assert sorted(file.name for file in tmp_path.iterdir()) == [
            "uploads.json",
            "uploads.json.lock",
        ]

        model.delete_uploads()
        assert json.loads((tmp_path / "uploads.json").read_text()) == {"uploads": []}


KEEPING = """
import sys, time
from pathlib import Path
from agentcell.adapters.upload_store import Upload, UploadStore

store, folder, name = UploadStore(), Path(sys.argv[1]), sys.argv[2]
while not (folder / "go").exists():
    time.sleep(0.001)
for number in range(30):
    one = Upload(
        provider="openai", file_id=f"file-{name}-{number}", digest=f"sha256:{name}{number}",
        size_bytes=1, mime_type="image/png", uploaded_at=time.time(),
    )
    store.keep("account", one, folder)
"""


def test_processes_that_write_at_the_same_moment_wait_for_each_other(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", KEEPING, str(tmp_path), name]) for name in "abcd"
    ]
    time.sleep(1)
    (tmp_path / "go").touch()
    assert [process.wait(60) for process in running] == [0] * 4

    assert len(UploadStore().all_of("account", tmp_path)) == 120


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"uploads": 7}',
        '{"uploads": [7, null, {"account": 1}]}',
        '{"uploads": [{"account": "a", "provider": "openai", "file_id": 7}]}',
        "\x00\xff",
    ],
)
def test_a_damaged_file_holds_nothing_and_is_written_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "uploads.json").write_text(text, encoding="utf-8")
    with ResponsesServer(key=KEY) as server:
        model = made(OPENAI, server, upload_cache=str(tmp_path))
        assert model.uploads() == []

        model.invoke(question(picture()))

        assert len(json.loads((tmp_path / "uploads.json").read_text())["uploads"]) == 1


def test_a_folder_that_cannot_be_written_is_told_and_let_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    with ResponsesServer(key=KEY) as server, caplog.at_level(logging.WARNING):
        model = made(OPENAI, server, upload_cache=tmp_path / "file")

        for _ in range(2):
            model.invoke(question(picture()))

        assert len(server.files.taken) == 1
        assert "not kept" in caplog.text


def test_a_lost_file_that_a_stale_folder_tells_of_is_not_named_for_ever(tmp_path: Path) -> None:
    with ResponsesServer(key=KEY) as server:
        model = made(OPENAI, server, upload_cache=tmp_path)
        model.invoke(question(picture()))
        stale = (tmp_path / "uploads.json").read_text()
        server.files.lose()
        model.invoke(question(picture()))
        (tmp_path / "uploads.json").write_text(stale)
        model.delete_uploads()
        (tmp_path / "uploads.json").write_text(stale)

        model.invoke(question(picture()))

        assert len(server.files.taken) == 3
        assert len(server.bodies) == 4  # of which one named a lost file
        assert service_ids(server.bodies[-1]) == [server.files.taken[-1].file_id]


def service_ids(body: dict[str, Any]) -> list[str]:
    return [part["file_id"] for part in OPENAI.parts(body) if "file_id" in part]


# -- who may ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [LegacyOpenAIModel, OllamaModel, LMStudioModel, VLLMModel, LlamaCppModel]
)
def test_models_without_a_files_api_refuse_to_upload(kind: type[Any]) -> None:
    for upload in ("auto", "always"):
        with pytest.raises(Unsupported, match="uploads no files") as caught:
            kind("m", KEY, upload=upload)
        assert caught.value.fix
    assert kind("m", KEY, upload="never").upload == "never"


@each_service
def test_a_misspelt_choice_is_an_error(service: Service) -> None:
    for upload in ("sometimes", None, True, ""):
        with pytest.raises(ValueError, match="never"):
            service.model("m", KEY, upload=upload)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path of a folder"):
        service.model("m", KEY, upload="auto", upload_cache=7)  # type: ignore[arg-type]


@each_service
def test_a_model_that_takes_no_ids_refuses_to_upload(service: Service) -> None:
    inline = frozenset({"path", "bytes", "base64"})
    none = {"image_sources": inline, "pdf_sources": inline}

    with pytest.raises(Unsupported, match="takes no file ids"):
        service.model("m", KEY, upload="auto", capability_overrides=none)


@each_service
def test_only_what_may_be_named_by_an_id_goes_up(service: Service, server: ProviderServer) -> None:
    inline = {"image_sources": frozenset({"path", "bytes", "base64"})}

    made(service, server, capability_overrides=inline).invoke(question(picture(), document()))

    assert [file.mime_type for file in server.files.taken] == ["application/pdf"]


@each_service
def test_a_copied_or_pickled_model_uploads_too(
    service: Service, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = made(service, server)
    monkeypatch.setenv(service.model.url_variable, server.url)
    monkeypatch.setenv(service.model.key_variable, KEY)  # which a pickle does not hold
    other = service.model("m", upload="always")

    for twin in (copy.copy(model), copy.deepcopy(model), _pickled(other)):
        twin.invoke(question(picture()))

    assert len(server.files.taken) == 1


@each_service
def test_notes_tell_what_will_be_uploaded_and_only_until_it_is(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server)

    before = model.ready(question(picture()))
    model.invoke(question(picture()))
    after = model.ready(question(picture()))

    (note,) = before.notes
    assert note.startswith("photo.png is uploaded to ")
    assert before.notes_about([picture().fingerprint()]) == (note,)
    assert after.notes == ()
    assert service.model("m", KEY, server.url).ready(question(picture())).notes == ()


def test_images_for_openai_itself_are_for_vision_and_for_all_others_user_data() -> None:
    asked: list[dict[str, Any]] = []

    class Files:
        async def create(self, **fields: Any) -> None:
            asked.append(fields)

    def send(url: str, mime_type: str) -> object:
        model = OpenAIModel("m", KEY, url)
        prepared = model.prepared_apart()
        file: Any = ("a", None, mime_type)
        asyncio.run(model.send_file(Files(), file, prepared))
        return asked.pop()["purpose"]

    assert send("https://api.openai.com/v1", "image/png") == "vision"
    assert send("https://api.openai.com/v1", "application/pdf") == "user_data"
    assert send("https://api.deepseek.com", "image/png") == "user_data"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, "image.png"),
        ("photo", "photo.png"),
        ("photo.jpg", "photo.png"),
        ("Photo.PNG", "Photo.PNG"),
        ("report.v2", "report.v2.png"),
        ('a<b>:"|?*.png', "a_b______.png"),
        ("照片 1.png", "照片 1.png"),
        ("x" * 400 + ".png", "x" * 120 + ".png"),
    ],
)
def test_a_file_goes_up_under_a_name_that_ends_as_its_content(given: str | None, sent: str) -> None:
    assert upload_name(picture(name=given)) == sent


def test_a_name_that_is_no_ascii_arrives_whole() -> None:
    for service in SERVICES:
        with service.server() as server:
            made(service, server).invoke(question(picture(name="照片 1.png")))

            assert server.files.taken[0].filename == "照片 1.png"


def _pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))  # noqa: S301 (made here)


def test_what_the_store_keeps_holds_no_key() -> None:
    with ResponsesServer(key=KEY) as server:
        made(OPENAI, server).invoke(question(picture()))

    assert KEY not in repr(vars(UPLOADS))
