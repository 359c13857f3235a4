"""What goes up and when: once, again after it is gone, and what happens when it does not work."""

from __future__ import annotations

import _thread
import asyncio
import base64
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import media
import wire
from agentcell.adapters.anthropic import AnthropicModel
from agentcell.adapters.events import Retrying, TextDelta
from agentcell.assets.asset import ImageAsset, PdfAsset
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
from agentcell.testing import AnthropicServer, ProviderServer, Reply
from promptly import PROMPTLY
from upload_services import (
    ANTHROPIC,
    GEMINI,
    KEY,
    OPENAI,
    Service,
    document,
    each_service,
    everything_said,
    gemini_uri,
    made,
    padded_pdf,
    picture,
    question,
)


@pytest.fixture
def server(service: Service) -> Iterator[ProviderServer]:
    with service.server(key=KEY) as running:
        yield running


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

    assert asyncio.run(stopped()) < PROMPTLY
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

    assert ended - moments[0] < PROMPTLY


@each_service
def test_closing_the_iterator_stops_an_upload(service: Service, server: ProviderServer) -> None:
    server.files.then(
        Reply(status=503, raw="busy", headers={"retry-after": "0"}), Reply(raw="x", stall=-1)
    )
    events = made(service, server, timeout=60).stream(question(picture()))
    assert isinstance(next(events), Retrying)

    began = time.monotonic()
    events.close()

    assert time.monotonic() - began < PROMPTLY
