"""Converts a server's answer to a tool result: text passes ``pre_read``, images are limited."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any

from hookline_hookspecs import Context, ImageBlock, Origin, Refused, ToolOutput
from hookline_hookspecs.image_kinds import image_kind

from .names import full_name

MAX_IMAGE_BYTES = 5_000_000
"""Bytes of one image."""
MAX_IMAGES = 8


_FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("name", "uri"),
    "resource": (),
}
"""Types of content, and the texts that each must have (MCP 2025-11-25, tools)."""


def clean_result(result: dict[str, Any]) -> None:
    """Replace parts of a raw result that are of an unknown type or incomplete: of a tool's, a
    prompt's or a resource's.

    The SDK would refuse the whole result because of one.
    """
    content = result.get("content")
    if content is None and "content" in result:
        result["content"] = []
    if isinstance(content, list):
        result["content"] = [_clean_part(one) for one in content]
    if result.get("isError", False) is None:
        del result["isError"]
    for message in found if isinstance(found := result.get("messages"), list) else ():
        if isinstance(message, dict) and "content" in message:
            message["content"] = _clean_part(message["content"])
    if isinstance(contents := result.get("contents"), list):
        result["contents"] = [one for one in contents if _is_complete(one)]


def _clean_part(part: Any) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        return _note(f"unknown type {str(kind)[:60]}")
    if missing := [name for name in _FIELDS[kind] if not isinstance(part.get(name), str)]:
        return _note(f"{kind} without {missing[0]}")
    clean = {key: value for key, value in part.items() if key not in ("annotations", "_meta")}
    if kind == "resource":
        held = part.get("resource")
        if not isinstance(held, dict) or not isinstance(held.get("uri"), str):
            return _note("resource without uri")
        if not any(isinstance(held.get(name), str) for name in ("text", "blob")):
            return _note(f"resource {held['uri'][:200]} without text")
    return clean


def _is_complete(part: Any) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("uri"), str):
        return False
    return any(isinstance(part.get(name), str) for name in ("text", "blob"))


def _note(reason: str) -> dict[str, Any]:
    return {"type": "text", "text": f"[part left out: {reason}]"}


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
    if len(data) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        return f"[image left out: larger than {MAX_IMAGE_BYTES:,} bytes]"
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "[image left out: not valid base64]"
    if len(decoded) > MAX_IMAGE_BYTES:
        return f"[image left out: larger than {MAX_IMAGE_BYTES:,} bytes]"
    found = image_kind(decoded[:16])
    if found is None or found.mime != mime:
        return f"[image left out: not a PNG, JPEG, GIF or WebP image of the type {mime[:60]}]"
    return ImageBlock(mime, data, origins=origins)
