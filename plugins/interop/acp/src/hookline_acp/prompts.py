"""What an editor sends as a prompt: words, pictures, files that were put into it, and links."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp import RequestError, schema
from hookline_channelkit import MediaStore
from hookline_hookspecs import Attachment, Audio, Origin

MOST_FILES = 50
"""Files and pictures of one prompt."""
LARGEST_PICTURE = 20_000_000
"""Bytes of a picture."""
LARGEST_TEXT = 2_000_000
"""Characters of the files that were put into one prompt, together."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A file that the editor has put into a prompt, such as one that is open and not saved."""

    name: str
    text: str
    origin: Origin


@dataclass(slots=True)
class Said:
    """A prompt as core takes it: ``embedded`` becomes context of the turn."""

    text: str = ""
    attachments: list[Attachment | Audio] = field(default_factory=list)
    embedded: list[Embedded] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)


async def read_prompt(blocks: Sequence[Any], workspace: Path, media: MediaStore) -> Said:
    """Return what the blocks of a prompt say. Raises ``RequestError`` for what is not taken."""
    said, texts, size = Said(), list[str](), 0
    for block in blocks:
        if isinstance(block, schema.TextContentBlock):
            texts.append(block.text)
        elif isinstance(block, schema.ImageContentBlock):
            said.attachments.append(await _picture(block.data, block.uri or "picture", media))
        elif isinstance(block, schema.ResourceContentBlock):
            texts.append(_shown(block.uri, workspace))
        elif isinstance(block, schema.EmbeddedResourceContentBlock):
            resource = block.resource
            name = _shown(resource.uri, workspace)
            if isinstance(resource, schema.BlobResourceContents):
                said.attachments.append(await _picture(resource.blob, name, media))
                continue
            size += len(resource.text)
            if size > LARGEST_TEXT:
                raise wrong(f"the files of a prompt have more than {LARGEST_TEXT:,} characters")
            said.embedded.append(Embedded(name, resource.text, origin(resource.uri)))
            texts.append(name)
        else:
            raise wrong("sound is not taken; send text, pictures and files")
        if len(said.attachments) + len(said.embedded) > MOST_FILES:
            raise wrong(f"a prompt has more than {MOST_FILES} files")
    said.text = _run_together(texts)
    if not said.text.strip() and not said.attachments:
        raise wrong("the prompt is empty")
    return said


def _run_together(texts: Sequence[str]) -> str:
    """The words in their order; a link stands where the person has put it."""
    text = ""
    for part in texts:
        apart = text and part and not (text[-1].isspace() or part[0].isspace())
        text += f" {part}" if apart else part
    return text


def origin(uri: str) -> Origin:
    """Where the text of a resource is from: this machine's files, or elsewhere."""
    is_file = urlsplit(uri).scheme in ("", "file")
    return Origin("workspace" if is_file else "outside", f"editor {uri[:200]}")


def _shown(uri: str, workspace: Path) -> str:
    """A resource as the model knows it: a file by its path, in the workspace without that."""
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


async def _picture(data: str, name: str, media: MediaStore) -> Attachment | Audio:
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise wrong(f"{name[:100]} is not base64") from None
    if not content or len(content) > LARGEST_PICTURE:
        raise wrong(f"{name[:100]} has {len(content):,} bytes; 1 to {LARGEST_PICTURE:,} are taken")
    try:
        return await media.save_attachment(content, name.rpartition("/")[2] or "picture")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise RequestError(-32603, f"{name[:100]} could not be saved: {why}") from None


def wrong(text: str) -> RequestError:
    """The error for parameters that cannot be used; ``text`` says why."""
    return RequestError(-32602, text)
