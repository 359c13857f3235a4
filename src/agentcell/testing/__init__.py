"""For tests of models and of what is built on them: scripted servers, a fake model, one suite.

Servers speak a provider's protocol on loopback, over real HTTP, and record what they are asked::

    with ChatServer() as server:
        server.fail(429, retry_after=0).reply("Hel", "lo")
        model = LegacyOpenAIModel("m", api_key="sk-test", base_url=server.url)
        assert model.invoke([{"role": "user", "content": "Hi"}])["content"] == "Hello"
    assert server.requests[0].body["model"] == "m"

`FakeModel` needs no server. `agentcell.testing.conformance` is what every adapter must pass.
"""

import sys

from agentcell.testing.anthropic_server import AnthropicServer
from agentcell.testing.fake_model import Asked, FakeModel
from agentcell.testing.gemini_server import GeminiServer
from agentcell.testing.image_conformance import check_image_backend
from agentcell.testing.image_servers import GeminiMediaServer, OpenAIImagesServer
from agentcell.testing.media_files import MediaFile
from agentcell.testing.media_server import MediaJob, MediaServer
from agentcell.testing.openai_servers import ChatServer, ResponsesServer
from agentcell.testing.ports import SilentPort, unused_url
from agentcell.testing.provider_server import ProviderServer
from agentcell.testing.replies import Call, Reply, Request, Script, failure

__all__ = [
    "AnthropicServer",
    "Asked",
    "Call",
    "ChatServer",
    "FakeModel",
    "GeminiMediaServer",
    "GeminiServer",
    "MediaFile",
    "MediaJob",
    "MediaServer",
    "OpenAIImagesServer",
    "ProviderServer",
    "Reply",
    "Request",
    "ResponsesServer",
    "Script",
    "SilentPort",
    "check_image_backend",
    "failure",
    "unused_url",
]

if _pytest := sys.modules.get("pytest"):  # then a check that fails shows its values
    _pytest.register_assert_rewrite("agentcell.testing.conformance")
