"""What a tool returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .messages import ImageBlock, ToolCall
from .origins import Origin
from .sinks import Handle


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call.

    ``text`` is what the model reads, ``notes`` are hints appended after it and never truncated,
    ``data`` is the tool's value for programs. ``seconds`` is how long the tool ran. ``origins`` say
    where the text came from; a ``post_tool`` step may add to them. ``shown`` is what a person reads
    instead of ``text``; empty for the same text. ``invalid`` is True if the call could not be run:
    it was not readable, named no offered tool, or its arguments did not fit.
    ``handles`` say what the ids in the text stand for.
    """

    call: ToolCall
    text: str
    ok: bool = True
    notes: tuple[str, ...] = ()
    data: Any = None
    images: tuple[ImageBlock, ...] = ()
    seconds: float = 0.0
    origins: tuple[Origin, ...] = field(default=(), compare=False)
    shown: str = ""
    invalid: bool = False
    handles: tuple[Handle, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returns when text alone is not enough; core adds the call.

    The fields are those of :class:`ToolResult`. ``ok=False`` tells the model and the plugins that
    the call failed even though it produced output; ``data`` is JSON for programs. Without
    ``origins``, those that the tool declares apply.
    """

    text: str
    ok: bool = field(default=True, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    data: Any = field(default=None, kw_only=True)
    images: tuple[ImageBlock, ...] = field(default=(), kw_only=True)
    origins: tuple[Origin, ...] = field(default=(), kw_only=True, compare=False)
    shown: str = field(default="", kw_only=True)
    handles: tuple[Handle, ...] = field(default=(), kw_only=True, compare=False)
