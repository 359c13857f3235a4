"""Scripts, to real HTTP servers on loopback that play them: for tests of models and their users.

A server records every request and answers with its replies in order; the last one repeats::

    with ChatServer(Reply("Hel", "lo"), Reply(status=429, headers={"Retry-After": "0"})) as server:
        model = LegacyOpenAIModel("m", api_key="sk-test", base_url=server.url)
        model.invoke([{"role": "user", "content": "Hi"}])
    assert server.requests[0].body["model"] == "m"

Faults are part of a reply: `stall`, `cut`, `error`, `status`, `raw`, `split_bytes`, `newline`.
"""

from agentcell.testing.anthropic_server import AnthropicServer
from agentcell.testing.gemini_server import GeminiServer
from agentcell.testing.openai_servers import ChatServer, ResponsesServer
from agentcell.testing.ports import SilentPort, unused_url
from agentcell.testing.provider_server import ProviderServer
from agentcell.testing.replies import Call, Reply, Request, Script, failure

__all__ = [
    "AnthropicServer",
    "Call",
    "ChatServer",
    "GeminiServer",
    "ProviderServer",
    "Reply",
    "Request",
    "ResponsesServer",
    "Script",
    "SilentPort",
    "failure",
    "unused_url",
]
