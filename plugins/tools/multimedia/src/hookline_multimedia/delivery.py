"""Files that tools made in a turn, on their way to the person as attachments of the reply.

They are found again in what the tools said, so that a turn which a dead process left, and another
one finished, delivers them as well. What a sub-agent made goes to the one it works for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from hookline_hookspecs import Attachment, Context, Message, ToolCall, ToolResultBlock
from hookline_hookspecs.speech import audio_kind, keep, media_folder, open_kept

from .pictures import picture_kind
from .reading import size

MADE = "made"
"""The key of the turn's stash under which the names of its files stand."""
MAKERS = ("generate_image", "text_to_speech")
"""The tools that make files."""


class Delivery:
    """The files of turns that are under way."""

    def __init__(self, home: Path) -> None:
        self._folder = media_folder(home)
        self._pattern = re.compile(re.escape(str(self._folder)) + r"[/\\]([0-9a-f]{32}\.\w{1,5})")
        self._handed: dict[str, list[str]] = {}

    def save(self, data: bytes, suffix: str) -> Path:
        """Save a file that was made. Raises ``OSError``."""
        return keep(self._folder, data, suffix)

    def note(self, ctx: Context, path: Path, mime: str, count: int) -> str:
        """Remember a file for the reply; the sentence that the model reads about it."""
        ctx.stash.setdefault(MADE, []).append(path.name)
        return f"Saved to {path} ({mime}, {size(count)}). The person gets it with your reply."

    def made(self, ctx: Context) -> list[Attachment]:
        """The files of the turn that is about to be answered, each once."""
        mine = [*ctx.stash.get(MADE, ()), *self._told(ctx.turn.messages)]
        mine += self._handed.pop(ctx.session.id, [])
        names = list(dict.fromkeys(mine))
        if ctx.session.kind != "chat":
            if ctx.session.kind == "agent" and ctx.session.parent_id:
                self._handed.setdefault(ctx.session.parent_id, []).extend(names)
            return []
        return list(self._attachments(names))

    def _told(self, messages: Iterable[Message]) -> Iterator[str]:
        """The names in the results of the tools that make files."""
        made = set()
        for message in messages:
            for block in message.blocks:
                if isinstance(block, ToolCall) and block.name in MAKERS:
                    made.add(block.id)
                elif isinstance(block, ToolResultBlock) and block.ok and block.call_id in made:
                    yield from self._pattern.findall(block.text)

    def _attachments(self, names: Iterable[str]) -> Iterator[Attachment]:
        for number, name in enumerate(names, 1):
            try:
                with open_kept(self._folder, name) as stream:
                    head = stream.read(64)
                    length = stream.seek(0, 2)
            except OSError:
                continue  # deleted since
            kind = picture_kind(head) or audio_kind(head)
            if kind is not None:
                word = "speech" if kind.mime.startswith("audio/") else "picture"
                shown = f"{word}-{number}{kind.suffix}"
                yield Attachment(self._folder / name, kind.mime, shown, length)
