"""What an MCP server's tool returns → what a tool of ours returns: text, images, PDFs."""

from __future__ import annotations

import base64
import json
from typing import Any

from agentcell.assets.asset import MediaAsset, asset_from_bytes
from agentcell.assets.wording import decimal_size
from agentcell.errors import AttachmentError, ToolError


def result_of(server: str, tool: str, result: Any) -> Any:
    """Return what a server's tool returned.

    Parameters
    ----------
    server, tool
        Their names, for errors.
    result
        An ``mcp`` `CallToolResult`.

    Returns
    -------
    str, MediaAsset or list of them
        Images and PDFs as attachments; what a model cannot be shown (sound) is told in words.

    Raises
    ------
    ToolError
        If the server says that the call went wrong.
    """
    parts = [_part(block) for block in result.content]
    texts = [part for part in parts if isinstance(part, str)]
    if result.is_error:
        said = " ".join(texts).strip() or "it did not say why"
        raise ToolError(f"'{tool}' of MCP server '{server}' failed: {said}")
    structured = getattr(result, "structured_content", None)
    if not parts:
        return "" if structured is None else json.dumps(structured, ensure_ascii=False)
    if len(texts) == len(parts):
        return "\n".join(texts)
    return parts[0] if len(parts) == 1 else parts


def _part(block: Any) -> str | MediaAsset:
    match block.type:
        case "text":
            return str(block.text)
        case "image":
            return _asset(block.data, block.mime_type)
        case "resource":
            held = block.resource
            text = getattr(held, "text", None)
            is_text = text is not None
            return f"{held.uri}:\n{text}" if is_text else _asset(held.blob, held.mime_type or "")
        case "resource_link":
            return f"{block.name}: {block.uri}"
    return f"({getattr(block, 'mime_type', None) or block.type}, which is not shown)"


def _asset(data: str, kind: str) -> str | MediaAsset:
    try:
        return asset_from_bytes(base64.b64decode(data, validate=False))
    except (AttachmentError, ValueError):
        size = decimal_size(len(data) * 3 // 4)
        return f"({kind or 'data'}, {size}, which is not shown)"
