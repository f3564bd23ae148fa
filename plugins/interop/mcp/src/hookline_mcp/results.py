"""What a server answers, as a tool's result: text through the gate, images within bounds."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any

from hookline_hookspecs import Context, ImageBlock, Refused, ToolOutput

LARGEST_IMAGE = 5_000_000
"""Bytes of an image (INTEROP, MCP client)."""
MOST_IMAGES = 8
IMAGES = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""The kinds that models take, by how they begin."""


async def output(ctx: Context, server: str, tool: str, result: Any) -> ToolOutput:
    """Return the SDK's ``CallToolResult`` as a :class:`ToolOutput`.

    Raises:
        Refused: a guard does not let the model read it.
    """
    texts, images = _parts(result.content or ())
    if not any(texts) and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False, indent=1)]
    text = "\n\n".join(one for one in texts if one)
    source = f"mcp {server} {tool}"
    try:
        passed = await ctx.read(text, source, kind="tool") if text else ""
    except Refused as refusal:
        raise Refused(f"the result of {tool} is kept back: {refusal}") from None
    if result.is_error:
        return ToolOutput(f"Error: {passed or 'the server gave no reason'}", ok=False)
    return ToolOutput(passed, images=tuple(images), data=result.structured_content)


def _parts(content: Iterable[Any]) -> tuple[list[str], list[ImageBlock]]:
    texts: list[str] = []
    images: list[ImageBlock] = []
    for part in content:
        kind = part.type
        if kind == "text":
            texts.append(part.text)
        elif kind == "image":
            image = _image(part.mime_type, part.data)
            if isinstance(image, str):
                texts.append(image)
            elif len(images) < MOST_IMAGES:
                images.append(image)
            else:
                texts.append(f"[an image left out: more than {MOST_IMAGES}]")
        elif kind == "audio":
            texts.append(f"[audio left out: {part.mime_type}]")
        elif kind == "resource_link":
            texts.append(f"[resource {part.name}: {part.uri}]")
        elif kind == "resource":
            texts.append(_resource(part.resource))
    return texts, images


def _resource(resource: Any) -> str:
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        return f"[resource {resource.uri}]\n{text}"
    return f"[resource {resource.uri} left out: {resource.mime_type or 'not text'}]"


def _image(mime: str, data: str) -> ImageBlock | str:
    """The image, or why it is left out."""
    if len(data) > LARGEST_IMAGE * 4 // 3 + 4:
        return f"[an image left out: larger than {LARGEST_IMAGE:,} bytes]"
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "[an image left out: it is no base64]"
    if len(decoded) > LARGEST_IMAGE:
        return f"[an image left out: larger than {LARGEST_IMAGE:,} bytes]"
    if not decoded.startswith(IMAGES.get(mime, b"\0none")):
        return f"[an image left out: {mime[:60]} is none of {', '.join(IMAGES)}, or is damaged]"
    return ImageBlock(mime, data)
