"""What is said of an account that makes pictures is about pictures, and reads well."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest
from IPython.core.interactiveshell import InteractiveShell

from agentcell import GenerationWish, ImageBackend
from agentcell.errors import (
    CellError,
    ContentFiltered,
    GenerationFailed,
    KeyMissing,
    ModelError,
    QuotaExceeded,
)
from agentcell.imaging.backends import watching
from agentcell.imaging.backends.gemini import GeminiMedia
from agentcell.imaging.backends.openai_images import OpenAIImages
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.testing import GeminiMediaServer, MediaServer, OpenAIImagesServer, Reply
from agentcell_magics import current_session

KEY = "a-key-of-mine-0123456789"

FOX = GenerationWish(prompt="a fox")


def refused(backend: ImageBackend, wish: GenerationWish = FOX) -> ModelError:
    async def run() -> None:
        async for _ in backend.run(wish, key="k"):
            pass

    with pytest.raises(ModelError) as caught:
        asyncio.run(run())
    return caught.value


@pytest.mark.parametrize(
    ("maker", "variable"), [(OpenAIImages, "OPENAI_API_KEY"), (GeminiMedia, "GEMINI_API_KEY")]
)
def test_a_key_that_is_missing_is_told_with_who_else_makes_pictures(
    maker: type[ImageBackend], variable: str
) -> None:
    with pytest.raises(KeyMissing, match=variable) as caught:
        maker().check(FOX)

    assert caught.value.fix == (
        f"run `%agent key {maker.name}` to type it, set {variable} in the environment, or name"
        " another maker with -m; `%generate backends` lists them."
    )


def test_an_account_with_nothing_left_names_no_model_that_makes_no_pictures() -> None:
    with OpenAIImagesServer() as server:
        server.fail(429, code="insufficient_quota")
        error = refused(OpenAIImages(KEY, server.url))

    assert isinstance(error, QuotaExceeded)
    assert error.fix.startswith("add credit to the account, or name another maker")


def test_a_filtered_prompt_is_to_be_worded_differently() -> None:
    with GeminiMediaServer() as server:
        server.fail(400, code="content_policy_violation")
        error = refused(GeminiMedia(KEY, server.url))

    assert isinstance(error, ContentFiltered)
    assert error.fix == "word the prompt differently, or leave the picture out."


def test_a_services_reason_is_told_without_the_signature_in_it() -> None:
    with MediaServer(token=KEY) as server:
        said = "see https://cdn.example/x.png?sig=s3cr3t-0123456789abcdef sorry"
        server.job("failed", fields={"reason": said})
        error = refused(HostedMediaBackend(server.url, KEY))

    assert "'failed': see https://cdn.example/x.png sorry. " in error.problem
    assert "s3cr3t" not in error.problem


def test_a_name_for_a_job_that_nobody_can_ask_for_is_no_name() -> None:
    clip = GenerationWish(prompt="waves", kind="video")
    with MediaServer(token=KEY) as server, GeminiMediaServer(states=("in_progress",)) as gemini:
        server.job("queued", request_id="\ud800")
        hosted = refused(HostedMediaBackend(server.url, KEY))
        gemini.plan(Reply(raw='{"id": "\\ud800", "status": "in_progress"}'))
        other = refused(GeminiMedia(KEY, gemini.url), clip)

    assert isinstance(hosted, GenerationFailed)
    assert "a requestId that nobody can ask for" in hosted.problem
    assert isinstance(other, GenerationFailed)
    assert "no name for the clip" in other.problem


def test_words_of_a_service_are_shortened_and_hold_no_picture() -> None:
    data = base64.b64encode(bytes(range(256))).decode()
    clip = GenerationWish(prompt="waves", kind="video")
    with GeminiMediaServer() as server:
        server.plan(Reply(raw=json.dumps({"candidates": [{"finishReason": "X" * 3000}]})))
        said = [{"content": {"parts": [{"text": f"here: {data}"}]}}]
        server.plan(Reply(raw=json.dumps({"candidates": said})))
        server.plan(Reply(raw=json.dumps({"id": "int-1", "status": "Y" * 3000})))
        patience = watching.Patience(total=0, interval=1)
        maker = GeminiMedia(KEY, server.url, patience=patience)
        problems = [refused(maker, wish).problem for wish in (FOX, FOX, clip)]

    assert [len(problem) < 500 for problem in problems] == [True] * 3, problems
    assert "XXX…" in problems[0]
    assert "here: …" in problems[1]
    assert "yyy…" in problems[2]


def test_one_generated_picture_can_be_viewed_by_its_variable(shell: InteractiveShell) -> None:
    shell.run_cell("%generate a fox -m procedural --size 64x64 -o fox")
    shell.run_line_magic("view_image", "fox")

    (waiting,) = current_session().attachments
    assert waiting.asset.path == shell.user_ns["fox"].paths[0]


def test_several_are_named_one_by_one(shell: InteractiveShell) -> None:
    shell.run_cell("%generate a fox -m procedural --size 64x64 -n 2 -o foxes")

    with pytest.raises(CellError, match="holds 2 attachments"):
        shell.run_line_magic("view_image", "foxes")
