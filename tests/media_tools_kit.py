"""The media tools of a session, with a service on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agentcell import build_media_tools
from agentcell.agents.tools import Tool
from agentcell.imaging.download_limits import DownloadLimits
from agentcell.imaging.hosted.backend import HostedMediaBackend
from agentcell.imaging.hosted.states import Patience
from agentcell.imaging.media_tools import MediaResult
from agentcell.testing import MediaServer

TOKEN = "tk-9f8e7d6c5b4a3210"  # noqa: S105 (made up)
NAMES = ["media_generate_image", "media_generate_video", "media_list_models"]
MP4 = b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41" + bytes(100)


def service_at(server: MediaServer, image: float = 20, video: float = 20) -> HostedMediaBackend:
    return HostedMediaBackend(
        server.url,
        TOKEN,
        patience=Patience(image=image, video=video, interval=0.01, longest=0.05),
        limits=DownloadLimits(first_wait=0.01),
    )


def tools(server: MediaServer, root: Path, **times: float) -> dict[str, Tool]:
    return {tool.name: tool for tool in build_media_tools(service_at(server, **times), root)}


def use(tool: Tool, **arguments: Any) -> Any:
    return asyncio.run(tool.function(**arguments))


def image(server: MediaServer, root: Path, **arguments: Any) -> MediaResult:
    return use(tools(server, root)[NAMES[0]], **{"prompt": "a fox"} | arguments)  # type: ignore[no-any-return]


def files(root: Path) -> list[str]:
    found = (path.name for path in (root / "generated-media").glob("*"))
    return sorted(name for name in found if not name.startswith("."))
