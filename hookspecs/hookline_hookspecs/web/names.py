"""Names of people and chats, as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..channels import TERMINAL
from ..origins import Origin
from ..stored_origins import named as named_sources
from .language import N_, t
from .views import Named

CHANNELS: Mapping[str, str] = {
    "web": N_("web page"),
    TERMINAL: N_("terminal"),
    "os": N_("command line"),
    "api": "API",
    "mcp": "MCP",
    "acp": N_("editor"),
}
"""What channels are called; others by their name with a capital letter, such as Telegram."""


ENDINGS: Mapping[str, str] = {
    "done": N_("an answer"),
    "question": N_("a question"),
    "command": N_("a command"),
    "denied": N_("a refusal"),
    "max_iterations": N_("the limit of model calls"),
    "stopped": N_("a stop"),
    "error": N_("an error"),
    "budget": N_("a used-up budget"),
}
"""What a turn ended with, by its ``stop``."""


def ending(stop: str) -> str:
    """Return what a turn ended with, in words: ``an answer`` for ``done``."""
    return t(ENDINGS.get(stop, stop))


def plain_name(id_: str) -> str:
    """Return ``mia (web page)`` for ``web:mia``, and ``Terminal`` for ``terminal:default``.

    Other text stays as it is.
    """
    channel, separator, name = id_.partition(":")
    spoken = t(CHANNELS.get(channel, channel.capitalize()))
    if channel == TERMINAL and name in ("", "default"):
        return f"{spoken[:1].upper()}{spoken[1:]}"
    return f"{name} ({spoken})" if separator and channel and name else id_


def named(id_: str) -> Named:
    """Return a table cell for a person or a chat ``CHANNEL:ID``, with the id behind a press."""
    return Named(plain_name(id_), id_)


def named_origins(origins: Sequence[Origin]) -> str:
    """Return the sources of a text as people read them, outside ones first."""
    return named_sources(
        [
            one if one.kind == "outside" else replace(one, source=plain_name(one.source))
            for one in origins
        ]
    )
