"""Attaches the files that tools made in a turn to its reply.

Their names are also read from the tools' results, so that they are attached if another process
finishes the turn. Files made by a sub-agent are attached to the reply of its parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from hookline_hookspecs import Attachment, Context, Message, ToolCall, ToolResultBlock
from hookline_hookspecs.image_kinds import image_kind
from hookline_hookspecs.speech import audio_kind, keep, media_folder, open_kept

from .media_reader import format_bytes

MADE_KEY = "made"
"""Key in the turn's stash: the names of the files made."""
MAKING_TOOLS = ("generate_image", "text_to_speech")
"""Tools that make files."""


class ReplyAttachments:
    """The files of running turns."""

    def __init__(self, home: Path) -> None:
        self._folder = media_folder(home)
        self._pattern = re.compile(re.escape(str(self._folder)) + r"[/\\]([0-9a-f]{32}\.\w{1,5})")
        self._from_sub_agents: dict[str, list[str]] = {}

    def save(self, data: bytes, suffix: str) -> Path:
        """Save a file. Raises ``OSError``."""
        return keep(self._folder, data, suffix)

    def record(self, ctx: Context, path: Path, mime: str, count: int) -> str:
        """Record a file for the reply, and return the result that the model reads."""
        ctx.stash.setdefault(MADE_KEY, []).append(path.name)
        return (
            f"Saved to {path} ({mime}, {format_bytes(count)}). The person gets it with your reply."
        )

    def collect(self, ctx: Context) -> list[Attachment]:
        """The files to attach to the reply of this turn, each once."""
        found = [*ctx.stash.get(MADE_KEY, ()), *self._made_names(ctx.turn.messages)]
        found += self._from_sub_agents.pop(ctx.session.id, [])
        names = list(dict.fromkeys(found))
        if ctx.session.kind != "chat":
            if ctx.session.kind == "agent" and ctx.session.parent_id:
                self._from_sub_agents.setdefault(ctx.session.parent_id, []).extend(names)
            return []
        return list(self._open_files(names))

    def _made_names(self, messages: Iterable[Message]) -> Iterator[str]:
        """Names of files in the results of :data:`MAKING_TOOLS`."""
        call_ids = set()
        for message in messages:
            for block in message.blocks:
                if isinstance(block, ToolCall) and block.name in MAKING_TOOLS:
                    call_ids.add(block.id)
                elif isinstance(block, ToolResultBlock) and block.ok and block.call_id in call_ids:
                    yield from self._pattern.findall(block.text)

    def _open_files(self, names: Iterable[str]) -> Iterator[Attachment]:
        for number, name in enumerate(names, 1):
            try:
                with open_kept(self._folder, name) as stream:
                    head = stream.read(64)
                    length = stream.seek(0, 2)
            except OSError:
                continue  # deleted meanwhile
            kind = image_kind(head) or audio_kind(head)
            if kind is not None:
                word = "speech" if kind.mime.startswith("audio/") else "picture"
                shown = f"{word}-{number}{kind.suffix}"
                yield Attachment(self._folder / name, kind.mime, shown, length, origins=())
