"""What happens in a turn, as lines for people, and what a signal's context tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Audio
from hookline_markdown import literal, one_line

if TYPE_CHECKING:
    from hookline_hookspecs import Attachment, Context, Notice, ToolCall

CHANNEL = "terminal"
LONGEST = 100
"""Columns of a line about a tool call, where nothing narrower is asked for."""
VALUE = 40
"""Columns of one argument beside others."""
_SHOWN_KINDS = frozenset({"chat", "agent", "none"})
"""Sessions whose work a person follows: their own, sub-agents, and what happens before a session is
known. Reviews work unseen."""


def plugin_view(ctx: Any) -> Context | None:
    """The context of a signal as a plugin knows it; None where the signal has none."""
    view: Context | None = ctx.of(CHANNEL) if hasattr(ctx, "of") else ctx
    return view


def is_chat(ctx: Any) -> bool:
    """Whether a signal is about the person's own conversation in the terminal."""
    view = plugin_view(ctx)
    return view is not None and view.channel == CHANNEL and view.session.kind == "chat"


def is_followed(ctx: Any) -> bool:
    """Whether a signal is about work that a person in the terminal follows."""
    view = plugin_view(ctx)
    return view is not None and view.channel == CHANNEL and view.session.kind in _SHOWN_KINDS


def call_line(call: ToolCall, width: int = LONGEST) -> str:
    """A tool call: its name and its arguments, the first one bare and in full, the rest shortened.

    Long texts, such as the content of a file, are counted only.
    """
    first, *others = call.arguments.items() or [("", "")]
    if "path" in call.arguments and first[0] != "path":
        others = [first, *(one for one in others if one[0] != "path")]
        first = ("path", call.arguments["path"])
    parts = [_value(first[1]), *(f"{name}={_short(value)}" for name, value in others)]
    return one_line(f"{call.name} {', '.join(parts)}", width)


def _short(value: Any) -> str:
    text = _value(value)
    lines = text.strip("\n").count("\n") + 1
    return f"({lines} lines)" if lines > 1 else one_line(text, VALUE)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def lasted(seconds: float, *, whole: bool = False) -> str:
    """A time as people say it; ``whole`` seconds for one that still runs."""
    if seconds >= 60:
        minutes, rest = divmod(int(seconds), 60)
        return f"{minutes} min {rest} s"
    if whole:
        return f"{int(seconds)} s"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def refusal_of(notice: Notice) -> str:
    """The tool whose refusal a notice tells, which its result tells as well; empty for others."""
    tool, found, _ = notice.text.partition(" was refused: ")
    return tool if found else ""


def is_good(notice: Notice) -> bool:
    """Whether a notice only confirms what the person asked for: what ``@path`` has attached."""
    return notice.plugin == "context-refs" and notice.text.startswith("Attached: ")


def notice_line(notice: Notice) -> str:
    """A notice with the plugin it came from."""
    return f"[{literal(notice.plugin)}] {literal(notice.text)}"


def attachment_line(item: Attachment | Audio) -> str:
    """A file of a reply, by its path."""
    kind = "audio" if isinstance(item, Audio) else item.mime.partition("/")[0]
    kind = kind if kind in ("audio", "image", "video") else "file"
    return f"[{kind}] {literal(str(Path(item.path)))}"
