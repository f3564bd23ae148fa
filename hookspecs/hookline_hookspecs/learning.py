"""Text that is remembered, and text that a model is about to read."""

from __future__ import annotations

from dataclasses import dataclass, field

from .origins import Origin


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something to be remembered. ``kind`` is, for example, ``note``, ``fact`` or ``skill``.

    ``origins`` are those of the session in which it was learned.
    """

    kind: str
    source: str
    text: str
    origins: tuple[Origin, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text from a file, hint, skill, reference or web page that a model is about to read."""

    kind: str
    source: str
    text: str
