"""Reads prompts: text, images, sounds, embedded files and links."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp import RequestError, schema
from hookline_channelkit import MediaStore
from hookline_hookspecs import Attachment, Audio, Origin
from hookline_hookspecs.base64_data import decode_base64
from hookline_hookspecs.file_origins import local_file_origins
from hookline_hookspecs.image_kinds import MAX_IMAGE_BYTES
from hookline_hookspecs.stored_origins import is_outside
from hookline_hookspecs.visible_text import escape

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
MAX_FILES = 50
"""Files and images in one prompt."""
MAX_EMBEDDED_CHARS = 2_000_000
"""Characters of all files embedded in one prompt."""


@dataclass(frozen=True, slots=True)
class EmbeddedFile:
    """A file that the editor embedded in a prompt, such as an unsaved one."""

    name: str
    text: str
    origin: Origin


@dataclass(slots=True)
class ParsedPrompt:
    """A prompt for core; ``embedded`` files become context of the turn."""

    text: str = ""
    attachments: list[Attachment | Audio] = field(default_factory=list)
    embedded: list[EmbeddedFile] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)


async def read_prompt(blocks: Sequence[Any], workspace: Path, media: MediaStore) -> ParsedPrompt:
    """Convert the blocks of a prompt. Raises ``RequestError`` for unsupported content."""
    parsed = ParsedPrompt()
    texts: list[str] = []
    size = 0
    for block in blocks:
        if isinstance(block, schema.TextContentBlock):
            texts.append(block.text)
        elif isinstance(block, schema.ImageContentBlock):
            parsed.attachments.append(await _save_image(block, media))
        elif isinstance(block, schema.AudioContentBlock):
            parsed.attachments.append(await _save_sound(block.data, media))
        elif isinstance(block, schema.ResourceContentBlock):
            texts.append(_shown(block.uri, workspace))
        elif isinstance(block, schema.EmbeddedResourceContentBlock):
            resource = block.resource
            name = _shown(resource.uri, workspace)
            if isinstance(resource, schema.BlobResourceContents):
                parsed.attachments.append(
                    await _save_file(resource.blob, resource.uri, name, media)
                )
                continue
            size += len(resource.text)
            if size > MAX_EMBEDDED_CHARS:
                raise invalid_params(
                    f"the embedded files have more than {MAX_EMBEDDED_CHARS:,} characters"
                )
            parsed.embedded.append(EmbeddedFile(name, resource.text, origin(resource.uri)))
            texts.append(name)
        else:
            raise invalid_params("send text, images, sounds and files; others are not supported")
        if len(parsed.attachments) + len(parsed.embedded) > MAX_FILES:
            raise invalid_params(f"the prompt has more than {MAX_FILES} files")
    parsed.text = _join_texts(texts)
    if not parsed.text.strip() and not parsed.attachments:
        raise invalid_params("the prompt is empty")
    return parsed


def _join_texts(texts: Sequence[str]) -> str:
    """Join texts and links in their order, with spaces between them."""
    text = ""
    for part in texts:
        apart = text and part and not (text[-1].isspace() or part[0].isspace())
        text += f" {part}" if apart else part
    return text


def origin(uri: str) -> Origin:
    """Return the origin of a resource: that of the file that it names, else outside."""
    path = _file_path(uri)
    if path is not None and not is_outside(found := local_file_origins(path)):
        return Origin(found[0].kind, f"editor {uri[:200]}")
    return found[0] if path is not None else Origin("outside", f"editor {uri[:200]}")


def _file_path(uri: str) -> Path | None:
    """Return the path that a ``file:`` address of this machine names, or None."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in uri:
        return None
    return Path(unquote(parts.path))


def _shown(uri: str, workspace: Path) -> str:
    """Return a resource's name for the model, on one line: a file's path, relative within the
    workspace."""
    return _CONTROLS.sub(lambda found: escape(found[0]), _name(uri, workspace))


def _name(uri: str, workspace: Path) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    if parts.scheme != "file":
        return uri
    path = unquote(parts.path)
    lines = f"#{parts.fragment}" if parts.fragment else ""
    if path.startswith(f"{workspace}{os.sep}"):
        path = path[len(str(workspace)) + 1 :]
    return path + lines


async def _save_image(block: schema.ImageContentBlock, media: MediaStore) -> Attachment:
    """Save an image; some editors send it as the address instead of the data."""
    uri = block.uri or "picture"
    if uri[:5].lower() == "data:":
        return await _save_file(block.data or uri, "picture", "picture", media)
    return await _save_file(block.data, uri, uri, media)


async def _save_file(data: str, uri: str, name: str, media: MediaStore) -> Attachment:
    content = await _decode(data, name)
    shown = name.rpartition("/")[2] or "picture"
    with _storage_errors(name):
        return await media.save_attachment(content, shown, origins=(origin(uri),))


async def _save_sound(data: str, media: MediaStore) -> Attachment | Audio:
    content = await _decode(data, "the sound")
    with _storage_errors("the sound"):
        return await media.save_audio(content)


async def _decode(data: str, name: str) -> bytes:
    try:
        content = await asyncio.to_thread(decode_base64, data)
    except ValueError:
        raise invalid_params(f"{name[:100]} is not base64") from None
    if not content or len(content) > MAX_IMAGE_BYTES:
        raise invalid_params(
            f"{name[:100]} has {len(content):,} bytes; expected 1 to {MAX_IMAGE_BYTES:,}"
        )
    return content


@contextmanager
def _storage_errors(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise RequestError(-32603, f"cannot save {name[:100]}: {why}") from None


def invalid_params(text: str) -> RequestError:
    """Return the protocol's error for invalid parameters."""
    return RequestError(-32602, text)
