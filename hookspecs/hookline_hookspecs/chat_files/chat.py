"""A chat, and its folder in the home."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from hookline_hookspecs import Session


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat: the channel's name and the chat's id on that channel."""

    channel: str
    chat_id: str

    @classmethod
    def of(cls, session: Session) -> Chat:
        """The chat of a session, with storable text."""
        return cls(storable(session.channel), storable(session.chat_id))

    @classmethod
    def at(cls, path: Path) -> Chat:
        """The chat whose folder contains the file ``path``."""
        return cls(unquote(path.parents[1].name), unquote(path.parent.name))

    @classmethod
    def named(cls, label: str, channels: Iterable[str] = ()) -> Chat | None:
        """Parse a :attr:`label`; None if it is not one.

        ``channels`` are the known channels, whose names may contain a colon (``telegram:work``).
        """
        longest = max([name for name in channels if label.startswith(f"{name}:")], default="")
        channel = longest or label.partition(":")[0]
        chat_id = label[len(channel) + 1 :]
        return cls(channel, chat_id) if channel and chat_id else None

    @property
    def folder(self) -> str:
        """The path of its folder in the home, with ``/``."""
        return f"chats/{_encoded(self.channel)}/{_encoded(self.chat_id)}"

    @property
    def label(self) -> str:
        """The chat as written in config, such as ``telegram:222``."""
        return f"{self.channel}:{self.chat_id}"


def storable(text: str) -> str:
    """Replace what a database cannot store in a text: lone surrogates are escaped, NULs dropped."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "")


def _encoded(name: str) -> str:
    """A channel or chat id as core encodes it in folder names."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E") or "_"
