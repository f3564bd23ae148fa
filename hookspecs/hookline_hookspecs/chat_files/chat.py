"""A chat, and its folder under the home."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from hookline_hookspecs import Session


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat: the channel's name and the chat's id in it."""

    channel: str
    chat_id: str

    @classmethod
    def of(cls, session: Session) -> Chat:
        """The chat of a session, in text that can be stored."""
        return cls(storable(session.channel), storable(session.chat_id))

    @classmethod
    def at(cls, path: Path) -> Chat:
        """The chat in whose folder the file ``path`` lies."""
        return cls(unquote(path.parents[1].name), unquote(path.parent.name))

    @classmethod
    def named(cls, label: str, channels: Iterable[str] = ()) -> Chat | None:
        """The chat with a :attr:`label`; None if that is none.

        ``channels`` are names of channels, of which one may hold a colon (``telegram:work``).
        """
        longest = max([one for one in channels if label.startswith(f"{one}:")], default="")
        channel = longest or label.partition(":")[0]
        chat_id = label[len(channel) + 1 :]
        return cls(channel, chat_id) if channel and chat_id else None

    @property
    def folder(self) -> str:
        """Its folder's path under the home, with ``/``."""
        return f"chats/{_encoded(self.channel)}/{_encoded(self.chat_id)}"

    @property
    def label(self) -> str:
        """The chat as it is written in config."""
        return f"{self.channel}:{self.chat_id}"


def storable(text: str) -> str:
    """``text`` without what a database cannot hold: lone surrogates and NUL."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "")


def _encoded(name: str) -> str:
    """A channel or chat as core names its folder."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E") or "_"
