"""What plugins add to the prompt: sections of the stable prompt, and blocks of a turn's context."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from .origins import Origin

Slot: TypeAlias = Literal[
    "identity", "guidance", "operator", "memory", "user", "skills", "context", "date", "channel"
]

SLOTS: tuple[Slot, ...] = get_args(Slot)
"""The slots of the stable prompt, in the order in which they are sent."""

CONTEXT_MAX_CHARS = 32_768
"""Characters of context files together that go into the prompt, by default."""
SOUL_MAX_CHARS = 8_000
"""Characters of SOUL.md that go into the prompt, by default."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the stable system prompt, for one of :data:`SLOTS`."""

    slot: Slot
    text: str

    def __post_init__(self) -> None:
        if self.slot not in SLOTS:
            raise ValueError(f"{self.slot!r} is not a slot of the prompt: {', '.join(SLOTS)}")


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """A part of this turn's context. ``tag`` names its element; ``text`` is escaped by core.

    Blocks with the same tag are merged. ``items`` are ``(name, text)`` pairs that become named
    child elements, such as ``<skill name="deploy">``; ``item_tag`` is the tag of those elements.
    ``origins`` say where the texts came from.
    """

    tag: str
    text: str = ""
    items: tuple[tuple[str, str], ...] = ()
    item_tag: str = "item"
    origins: tuple[Origin, ...] = field(default=(), compare=False)
