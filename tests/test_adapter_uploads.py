"""Attachments that go up once, through each service's Files API, and are then named by their id."""

from __future__ import annotations

import _thread
import asyncio
import base64
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import media
import wire
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.events import Retrying, TextDelta
from agentcell.adapters.gemini import GeminiModel
from agentcell.adapters.local_servers import LlamaCppModel, LMStudioModel, OllamaModel, VLLMModel
from agentcell.adapters.openai_chat import LegacyOpenAIModel
from agentcell.adapters.openai_responses import OpenAIModel
from agentcell.adapters.upload_form import upload_name
from agentcell.adapters.upload_store import UPLOADS, UploadStore
from agentcell.adapters.uploads import UploadsFiles
from agentcell.assets.asset import ImageAsset, MediaAsset, PdfAsset
from agentcell.errors import (
    AttachmentError,
    AuthenticationError,
    BadRequest,
    ConnectionFailed,
    ModelError,
    ServiceError,
    Timeout,
    TooLarge,
    Unsupported,
)
from agentcell.testing import AnthropicServer, GeminiServer, ProviderServer, Reply, ResponsesServer
from agentcell.testing.file_server import StoredFile

KEY = "sk-test-0123456789abcdef"

OLDEST_SECONDS = 48 * 3600

UPLOAD_HEADERS = (
    *("protocol", "command", "offset"),
    *("header-content-length", "header-content-type"),
)


@dataclass(frozen=True)
class Service:
    """One service with a Files API: its server, its model, and how a question names a file."""

    name: str
    server: type[ProviderServer]
    model: type[UploadsFiles]
    image: Callable[[StoredFile], dict[str, Any]]
    pdf: Callable[[StoredFile], dict[str, Any]]

    def parts(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Return what the last message of a question holds."""
        turn = body.get("input") or body.get("messages") or body.get("contents")
        last = turn[-1]  # type: ignore[index]
        return list(last["parts"] if "parts" in last else last["content"])


def gemini_uri(file: StoredFile) -> str:
    return f"https://generativelanguage.googleapis.com/v1beta/{file.file_id}"


OPENAI = Service(
    "responses",
    ResponsesServer,
    OpenAIModel,
    lambda file: {"type": "input_image", "detail": "auto", "file_id": file.file_id},
    lambda file: {"type": "input_file", "file_id": file.file_id},
)
ANTHROPIC = Service(
    "anthropic",
    AnthropicServer,
    AnthropicModel,
    lambda file: {"type": "image", "source": {"type": "file", "file_id": file.file_id}},
    lambda file: {
        "type": "document",
        "source": {"type": "file", "file_id": file.file_id},
        "title": "document.pdf",
    },
)
GEMINI = Service(
    "gemini",
    GeminiServer,
    GeminiModel,
    lambda file: {"fileData": {"mimeType": "image/png", "fileUri": gemini_uri(file)}},
    lambda file: {"fileData": {"mimeType": "application/pdf", "fileUri": gemini_uri(file)}},
)
SERVICES = [OPENAI, ANTHROPIC, GEMINI]

each_service = pytest.mark.parametrize("service", SERVICES, ids=lambda one: one.name)


@pytest.fixture
def server(service: Service) -> Iterator[ProviderServer]:
    with service.server(key=KEY) as running:
        yield running


def made(service: Service, server: ProviderServer, upload: str = "always", **more: Any) -> Any:
    return service.model("m", KEY, server.url, upload=upload, **more)


def picture(color: str = "red", name: str | None = "photo.png") -> ImageAsset:
    return ImageAsset.from_bytes(media.png(color, (9, 9)), filename=name)


def document(text: str = "Total 42.00") -> PdfAsset:
    return PdfAsset.from_bytes(media.pdf(text))


def padded_pdf(size: int) -> PdfAsset:
    whole = media.pdf()
    return PdfAsset.from_bytes(whole[:9] + b"% " + b"x" * size + b"\n" + whole[9:])


def question(*assets: MediaAsset, text: str = "What is it?") -> list[dict[str, Any]]:
    blocks = [media.block(asset, number=number) for number, asset in enumerate(assets, 1)]
    return [{"role": "user", "content": [text, *blocks]}]


def file_requests(server: ProviderServer) -> list[tuple[str, str]]:
    return [(request.method, request.path) for request in server.files.requests]


def everything_said(error: BaseException | None) -> str:
    said = []
    while error is not None:
        said += [str(error), repr(error), str(vars(error)), str(error.args)]
        error = error.__cause__ or error.__context__
    return "\n".join(said)


# -- what goes up ----------------------------------------------------------------------------


@each_service
def test_by_default_nothing_goes_up(service: Service, server: ProviderServer) -> None:
    model = service.model("m", KEY, server.url)

    for _ in range(3):
        model.invoke(question(picture(), document(), padded_pdf(4_000_000)))

    assert model.upload == "never"
    assert server.files.requests == []
    assert base64.b64encode(media.pdf()).decode() in json.dumps(server.bodies[-1])


@each_service
def test_with_always_each_attachment_is_named_by_its_id(
    service: Service, server: ProviderServer
) -> None:
    result = made(service, server).invoke(question(picture(), document()))

    assert result["content"] == "Hello."
    photo, paper = sorted(server.files.taken, key=lambda file: file.mime_type, reverse=True)
    assert photo.data == picture().load_bytes()
    assert (photo.filename, photo.mime_type) == ("photo.png", "image/png")
    assert paper.data == media.pdf()
    assert service.parts(server.bodies[0])[1:] == [service.image(photo), service.pdf(paper)]
    wire.check(service.name, server.bodies[0])


@each_service
def test_with_auto_a_small_attachment_goes_up_when_it_is_sent_again(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server, "auto")

    for _ in range(5):
        model.invoke(question(picture()))

    assert len(server.files.taken) == 1
    assert base64.b64encode(picture().load_bytes()).decode() in json.dumps(server.bodies[0])
    for body in server.bodies[1:]:
        assert service.parts(body)[1] == service.image(server.files.taken[0])
        wire.check(service.name, body)


@each_service
def test_with_auto_a_large_attachment_goes_up_at_once_and_a_small_one_beside_it_does_not(
    service: Service, server: ProviderServer
) -> None:
    large = padded_pdf(4_000_000)

    made(service, server, "auto").invoke(question(picture(), large))

    assert [file.data for file in server.files.taken] == [large.load_bytes()]
    assert service.parts(server.bodies[0])[2] == service.pdf(server.files.taken[0])


@each_service
def test_with_auto_what_stands_twice_in_one_question_goes_up_once(
    service: Service, server: ProviderServer
) -> None:
    made(service, server, "auto").invoke(question(picture(), picture()))

    (file,) = server.files.taken
    assert service.parts(server.bodies[0])[1:] == [service.image(file)] * 2


@each_service
def test_in_five_turns_of_a_conversation_an_attachment_goes_up_once(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server)
    messages = question(document())

    for turn in range(5):
        answer = model.invoke(messages)
        messages += [answer["assistant_message"], {"role": "user", "content": f"And {turn}?"}]

    assert len(server.files.taken) == 1
    assert len(server.bodies) == 5


def test_with_auto_the_largest_go_up_until_the_rest_fits_into_one_request() -> None:
    pages = [padded_pdf(3_900_000 + number) for number in range(7)]
    with AnthropicServer() as server:
        AnthropicModel("m", KEY, server.url, upload="auto").invoke(question(*pages))

    sizes = {len(file.data) for file in server.files.taken}
    assert sizes == {pages[-1].size_bytes}  # 32 MB as base64 is room for six


def test_a_document_too_large_for_a_request_may_be_uploaded() -> None:
    large = padded_pdf(25_000_000)
    with AnthropicServer() as server:
        with pytest.raises(AttachmentError, match="at most 24,000,000"):
            AnthropicModel("m", KEY, server.url).invoke(question(large))
        AnthropicModel("m", KEY, server.url, upload="auto").invoke(question(large))

        assert [len(file.data) for file in server.files.taken] == [large.size_bytes]


@each_service
def test_openai_shaped_data_and_bare_assets_go_up_too(
    service: Service, server: ProviderServer
) -> None:
    url = "data:image/png;base64," + base64.b64encode(picture("blue").load_bytes()).decode()
    pdf_url = "data:application/pdf;base64," + base64.b64encode(media.pdf()).decode()
    content = [
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
        {"type": "file", "file": {"filename": "document.pdf", "file_data": pdf_url}},
        picture("green"),
    ]

    made(service, server).invoke([{"role": "user", "content": content}])

    blue, paper, green = (
        next(file for file in server.files.taken if file.data == data)
        for data in (picture("blue").load_bytes(), media.pdf(), picture("green").load_bytes())
    )
    low: dict[str, Any] = service.image(blue)
    if service is OPENAI:
        low["detail"] = "low"
    if service is GEMINI:
        low["mediaResolution"] = {"level": "MEDIA_RESOLUTION_LOW"}
    body = server.bodies[0]
    assert service.parts(body) == [low, service.pdf(paper), service.image(green)]
    wire.check(service.name, body)


@each_service
def test_addresses_and_file_ids_stay_what_they_are(
    service: Service, server: ProviderServer
) -> None:
    assets = [
        ImageAsset.from_url("https://example.org/a.png"),
        PdfAsset.from_file_id("file-of-mine"),
    ]

    made(service, server).invoke(question(*assets))

    assert server.files.requests == []
    said = json.dumps(server.bodies[0])
    assert "https://example.org/a.png" in said
    assert "file-of-mine" in said


@each_service
def test_a_picture_in_a_tools_result_goes_up(service: Service, server: ProviderServer) -> None:
    call = {"id": "call_1", "name": "look", "arguments": "{}"}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": ["Here.", media.block(picture())]},
    ]

    made(service, server).invoke(messages)

    (file,) = server.files.taken
    assert (gemini_uri(file) if service is GEMINI else file.file_id) in json.dumps(server.bodies[0])
    wire.check(service.name, server.bodies[0])


@each_service
def test_what_was_converted_goes_up_as_it_is_sent(service: Service, server: ProviderServer) -> None:
    bitmap = ImageAsset.from_bytes(media.png("red", (9, 9), kind="BMP"), filename="scan.bmp")

    made(service, server).invoke(question(bitmap))

    (file,) = server.files.taken
    assert file.mime_type in {"image/png", "image/jpeg"}
    assert file.filename.endswith((".png", ".jpg"))


@each_service
def test_a_question_that_is_refused_here_uploads_nothing(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server)

    with pytest.raises(Unsupported):
        model.invoke(question(picture()), settings={"colour": "red"})
    with pytest.raises(ModelError):
        model.invoke([*question(picture()), {"role": "nobody", "content": "x"}])
    with pytest.raises(ModelError):
        model.invoke(None)

    assert server.files.requests == []
    assert server.requests == []


# -- once ------------------------------------------------------------------------------------


@each_service
def test_threads_that_send_the_same_at_once_upload_once(
    service: Service, server: ProviderServer
) -> None:
    server.files.delay = 0.2
    ready = threading.Barrier(6)
    answers: list[str] = []

    def ask(model: Any, own_loop: bool) -> None:
        ready.wait()
        if own_loop:
            answers.append(asyncio.run(model.ainvoke(question(document())))["content"])
        else:
            answers.append(model.invoke(question(document()))["content"])

    # Three share a model; all share the key. Half of them run loops of their own.
    shared = made(service, server)
    threads = [
        threading.Thread(target=ask, args=(made(service, server) if n % 2 else shared, n % 3 == 0))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == ["Hello."] * 6
    assert len(server.files.taken) == 1


@each_service
def test_who_waited_for_an_upload_that_failed_is_told_why(
    service: Service, server: ProviderServer
) -> None:
    server.files.delay = 0.3
    server.files.fail(413, "too large")
    problems: list[str] = []

    def ask() -> None:
        with pytest.raises(TooLarge) as caught:
            made(service, server).invoke(question(document()))
        problems.append(str(caught.value))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(problems)) == 1
    assert len(problems) == 3
    assert len(server.files.requests) == 1


@each_service
def test_who_waited_for_an_upload_that_was_stopped_uploads_itself(
    service: Service, server: ProviderServer
) -> None:
    server.files.delay = 0.3

    async def both() -> str:
        first = asyncio.create_task(made(service, server).ainvoke(question(document())))
        second = asyncio.create_task(made(service, server).ainvoke(question(document())))
        await asyncio.sleep(0.15)
        first.cancel()
        return str((await second)["content"])

    assert asyncio.run(both()) == "Hello."


@each_service
def test_another_key_uploads_for_itself(service: Service) -> None:
    with service.server() as server:
        for key in ("key-of-one-person", "key-of-another", "key-of-one-person"):
            service.model("m", key, server.url, upload="always").invoke(question(picture()))

        assert len(server.files.taken) == 2


# -- files that are gone ---------------------------------------------------------------------


@each_service
def test_a_file_that_is_soon_deleted_goes_up_again(
    service: Service, server: ProviderServer
) -> None:
    server.files.lifetime = 60
    model = made(service, server)

    model.invoke(question(picture()))
    model.invoke(question(picture()))

    assert len(server.files.taken) == 2
    assert service.parts(server.bodies[1])[1] == service.image(server.files.taken[1])


@pytest.mark.parametrize("service", [OPENAI, ANTHROPIC], ids=lambda one: one.name)
def test_the_service_is_asked_to_delete_after_two_days(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server)
    model.invoke(question(picture()))

    fields = server.files.taken[0].fields
    if service is OPENAI:
        expiry = {"expires_after[anchor]": "created_at", "expires_after[seconds]": "172800"}
        assert fields == {"purpose": "user_data", **expiry}
    else:
        assert fields == {"expires_in_seconds": "172800"}
    (upload,) = model.uploads()
    assert upload.expires_at == pytest.approx(time.time() + 172_800, abs=60)


@each_service
def test_a_file_that_the_service_has_lost_goes_up_again_before_the_answer(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server)
    model.invoke(question(picture(), document()))
    server.files.lose()

    events = list(model.stream(question(picture(), document())))

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello."
    assert any(isinstance(event, Retrying) for event in events)
    assert len(server.files.taken) == 4
    named = [service.image(one) for one in server.files.stored.values()]
    assert service.parts(server.bodies[-1])[1] in named


@each_service
def test_only_the_lost_file_of_two_goes_up_again(service: Service, server: ProviderServer) -> None:
    model = made(service, server)
    model.invoke(question(picture(), document()))
    lost = next(file for file in server.files.taken if file.mime_type == "image/png")
    server.files.lose(lost.file_id)

    model.invoke(question(picture(), document()))

    assert [file.mime_type for file in server.files.taken[2:]] == ["image/png"]


@each_service
def test_a_file_that_is_gone_time_and_again_is_an_error(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server)
    model.invoke(question(picture()))
    server.then(Reply()).then()
    server.fail(404, "File not found: the one that was named.")
    server.fail(404, "File not found: the one that was named.")
    server.fail(404, "File not found: the one that was named.")

    with pytest.raises(ModelError, match="File not found"):
        model.invoke(question(picture()))

    assert len(server.files.taken) == 2
    assert len(server.bodies) == 3


@each_service
def test_other_refusals_upload_nothing_again(service: Service, server: ProviderServer) -> None:
    model = made(service, server)
    model.invoke(question(picture()))
    server.then()
    server.fail(404, "The model does not exist.")
    server.fail(401, "The file's key expired.")
    server.fail(400, "The file is not a picture.")

    for _ in range(3):
        with pytest.raises(ModelError):
            model.invoke(question(picture()))

    assert len(server.files.taken) == 1
    assert len(server.bodies) == 4


@each_service
def test_once_the_answer_has_begun_nothing_is_sent_again(
    service: Service, server: ProviderServer
) -> None:
    model = made(service, server)
    model.invoke(question(picture()))
    server.then()
    server.fail_midway(404, "File not found: gone meanwhile.", "Hel", "lo", after=1)

    with pytest.raises(ModelError, match="gone meanwhile"):
        model.invoke(question(picture()))

    assert len(server.files.taken) == 1


# -- what goes wrong -------------------------------------------------------------------------


@each_service
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthenticationError),
        (403, AuthenticationError),
        (404, BadRequest),
        (413, TooLarge),
        (400, BadRequest),
        (500, ServiceError),
    ],
)
def test_a_refused_upload_is_an_error_that_names_the_file_and_not_the_key(
    service: Service, server: ProviderServer, status: int, kind: type[ModelError]
) -> None:
    server.files.fail(status, f"No, says the service of {KEY}.")
    server.files.fail(status, f"No, says the service of {KEY}.")
    model = made(service, server, max_retries=0)

    with pytest.raises(kind, match=r"photo\.png was not uploaded") as caught:
        model.invoke(question(picture()))

    error = caught.value
    assert error.status == status
    assert (error.provider, error.model) == (model.provider, "m")
    assert error.fix
    assert KEY not in everything_said(error)
    assert len(str(error).splitlines()) <= 15
    assert server.bodies == []
    assert model.uploads() == []


@each_service
def test_a_service_without_files_is_told_of(service: Service, server: ProviderServer) -> None:
    server.files.fail(404, "Invalid URL")

    with pytest.raises(BadRequest) as caught:
        made(service, server).invoke(question(picture()))

    assert 'upload="never"' in caught.value.fix


@each_service
@pytest.mark.parametrize(
    "raw",
    ["<html><title>Sign in</title></html>", "", "[]", '"file-1"', "{}", '{"id": 7}', '{"id": " "}'],
)
def test_an_answer_that_tells_of_no_file_is_an_error(
    service: Service, server: ProviderServer, raw: str
) -> None:
    server.files.then(Reply(raw=raw, headers={"content-type": "application/json"}))

    with pytest.raises(ServiceError, match="was not uploaded"):
        made(service, server, max_retries=0).invoke(question(picture()))


@each_service
def test_a_busy_service_is_asked_again_and_the_caller_sees_it(
    service: Service, server: ProviderServer
) -> None:
    server.files.then(
        Reply(status=503, raw="busy", headers={"retry-after": "0"}),
        Reply(status=429, raw="slow down", headers={"retry-after": "0"}),
    )

    events = list(made(service, server).stream(question(picture())))

    retries = [event for event in events if isinstance(event, Retrying)]
    assert [event.attempt for event in retries] == [2, 3]
    assert len(server.files.taken) == 1


@each_service
def test_a_connection_that_breaks_is_made_again(service: Service, server: ProviderServer) -> None:
    server.files.then(Reply(raw="x", cut=-1))

    made(service, server).invoke(question(picture()))

    assert len(server.files.taken) == 1


@each_service
def test_nobody_listening_is_a_failed_connection(service: Service) -> None:
    with service.server() as server:
        url = server.url

    with pytest.raises(ConnectionFailed, match=r"photo\.png was not uploaded"):
        service.model("m", KEY, url, upload="always").invoke(question(picture()))


@each_service
def test_a_service_that_says_nothing_to_an_upload_is_given_up(
    service: Service, server: ProviderServer
) -> None:
    server.files.then(Reply(raw="x", stall=-1))

    with pytest.raises(Timeout):
        made(service, server, timeout=0.3, max_retries=0).invoke(question(picture()))


@each_service
@pytest.mark.parametrize("hold", [True, False], ids=["in the content", "before the answer"])
def test_an_upload_stops_within_a_second(
    service: Service, server: ProviderServer, hold: bool
) -> None:
    server.files.hold = hold
    if not hold:
        server.files.then(Reply(raw="x", stall=-1))
    model = made(service, server, timeout=60)
    large = padded_pdf(30_000_000 if hold else 10)

    async def stopped() -> float:
        task = asyncio.create_task(model.ainvoke(question(large)))
        await asyncio.to_thread(server.files.uploading.wait, 10)
        await asyncio.sleep(0.2)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(stopped()) < 1
    assert model.uploads() == []
    assert server.bodies == []


@each_service
def test_an_interrupt_stops_an_upload_within_a_second(
    service: Service, server: ProviderServer
) -> None:
    server.files.hold = True
    large = padded_pdf(30_000_000)
    moments: list[float] = []

    def stop() -> None:
        server.files.uploading.wait(20)
        time.sleep(0.2)
        moments.append(time.monotonic())
        _thread.interrupt_main()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(KeyboardInterrupt):
        made(service, server, timeout=60).invoke(question(large))
    ended = time.monotonic()
    stopper.join()

    assert ended - moments[0] < 1


@each_service
def test_closing_the_iterator_stops_an_upload(service: Service, server: ProviderServer) -> None:
    server.files.then(
        Reply(status=503, raw="busy", headers={"retry-after": "0"}), Reply(raw="x", stall=-1)
    )
    events = made(service, server, timeout=60).stream(question(picture()))
    assert isinstance(next(events), Retrying)

    began = time.monotonic()
    events.close()

    assert time.monotonic() - began < 1


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
