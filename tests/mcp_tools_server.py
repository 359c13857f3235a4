"""An MCP server to be started by tests: over its standard input, or on a port of loopback."""

from __future__ import annotations

import base64
import os
import sys
import time

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ImageContent, TextContent

from agent_kit import png

server = MCPServer("tools")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool()
def variable(name: str) -> str:
    """Tell an environment variable."""
    return os.environ.get(name, "not set")


@server.tool()
def picture() -> CallToolResult:
    """Draw a red pixel."""
    data = base64.b64encode(png(255, 0, 0)).decode()
    return CallToolResult(
        content=[
            TextContent(type="text", text="a red one"),
            ImageContent(type="image", data=data, mime_type="image/png"),
        ]
    )


@server.tool()
def fails() -> str:
    """Go wrong."""
    raise ValueError("the shelf is empty")


@server.tool()
def dies() -> str:
    """End the server in the middle of a call."""
    sys.stderr.write("out of memory\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool()
def waits(seconds: float) -> str:
    """Wait."""
    time.sleep(seconds)
    return "waited"


@server.tool()
def process() -> str:
    """Tell the server's process."""
    return str(os.getpid())


if __name__ == "__main__":
    sys.stderr.write("a line for the log\n")
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
