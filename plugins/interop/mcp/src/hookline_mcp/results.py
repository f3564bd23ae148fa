"""Converts a server's answer to a tool result: text passes ``pre_read``, images are limited."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

from hookline_hookspecs import Context, ImageBlock, Origin, Refused, ToolOutput
from hookline_hookspecs.base64_data import decode_base64
from hookline_hookspecs.image_kinds import image_kind

from .names import full_name

MAX_IMAGE_BYTES = 5_000_000
"""Bytes of one image."""
MAX_IMAGES = 8


async def to_tool_output(ctx: Context, server: str, tool: str, result: Any) -> ToolOutput:
    """Return the SDK's ``CallToolResult`` as a :class:`ToolOutput`.

    Raises:
        Refused: a guard refuses the text.
    """
    origins = (Origin("outside", f"tool {full_name(server, tool)}"),)
    texts, images = convert_content(result.content or (), origins)
    if not any(texts) and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False, indent=1)]
    text = "\n\n".join(one for one in texts if one)
    source = f"mcp {server} {tool}"
    try:
        passed = await ctx.read(text, source, kind="tool") if text else ""
    except Refused as refusal:
        raise Refused(f"the result of {tool} was withheld: {refusal}") from None
    if result.is_error:
        return ToolOutput(f"Error: {passed or 'the server gave no reason'}", ok=False)
    return ToolOutput(passed, images=tuple(images), data=result.structured_content)


def convert_content(
    content: Iterable[Any], origins: tuple[Origin, ...]
) -> tuple[list[str], list[ImageBlock]]:
    """Return the texts and images of content, and notes for what is left out."""
    texts: list[str] = []
    images: list[ImageBlock] = []
    for part in content:
        kind = part.type
        if kind == "text":
            texts.append(part.text)
        elif kind == "image":
            image = to_image(part.mime_type, part.data, origins)
            if isinstance(image, str):
                texts.append(image)
            elif len(images) < MAX_IMAGES:
                images.append(image)
            else:
                texts.append(f"[image left out: more than {MAX_IMAGES}]")
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


def to_image(mime: str, data: str, origins: tuple[Origin, ...]) -> ImageBlock | str:
    """Return the image, or a text that says why it is left out."""
    if len(data) > MAX_IMAGE_BYTES * 2:  # base64 takes a third more, line breaks some
        return f"[image left out: larger than {MAX_IMAGE_BYTES:,} bytes]"
    try:
        decoded = decode_base64(data)
    except ValueError:
        return "[image left out: not valid base64]"
    if len(decoded) > MAX_IMAGE_BYTES:
        return f"[image left out: larger than {MAX_IMAGE_BYTES:,} bytes]"
    found = image_kind(decoded[:16])
    if found is None:
        return f"[image left out: {mime[:60]} is not a PNG, JPEG, GIF or WebP image]"
    return ImageBlock(found.mime, base64.b64encode(decoded).decode(), origins=origins)
