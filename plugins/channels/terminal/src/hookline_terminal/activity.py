"""Lines about tool calls and notices, and which signals the terminal shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Audio
from hookline_markdown import both_ends, one_line

if TYPE_CHECKING:
    from hookline_hookspecs import Attachment, Context, Notice, ToolCall

CHANNEL = "terminal"
MAX_CALL_COLUMNS = 100
MAX_ARGUMENT_COLUMNS = 40
"""Columns of each argument except the first."""
_SHOWN_KINDS = frozenset({"chat", "agent", "none"})
"""Kinds of sessions that are shown: the person's own, sub-agents, and none yet. Reviews are not."""


def plugin_view(ctx: Any) -> Context | None:
    """Return the context of a signal as plugins see it; None if the signal has none."""
    view: Context | None = ctx.of(CHANNEL) if hasattr(ctx, "of") else ctx
    return view


def is_chat(ctx: Any) -> bool:
    """Whether a signal is about the person's own conversation in the terminal."""
    view = plugin_view(ctx)
    return view is not None and view.channel == CHANNEL and view.session.kind == "chat"


def is_followed(ctx: Any) -> bool:
    """Whether a signal is about work that the terminal shows."""
    view = plugin_view(ctx)
    return view is not None and view.channel == CHANNEL and view.session.kind in _SHOWN_KINDS


def sub_agent(ctx: Any) -> str | None:
    """Return the session of the sub-agent that a signal is about; None if it is about none."""
    view = plugin_view(ctx)
    is_agent = view is not None and view.channel == CHANNEL and view.session.kind == "agent"
    return view.session.id if view is not None and is_agent else None


def call_line(call: ToolCall, width: int = MAX_CALL_COLUMNS) -> str:
    """Return a tool call on one line: its name, the first argument in full, the others shortened.

    Of a text of several lines, such as the content of a file, only their number is shown.
    """
    first, *others = call.arguments.items() or [("", "")]
    if "path" in call.arguments and first[0] != "path":
        others = [first, *(item for item in others if item[0] != "path")]
        first = ("path", call.arguments["path"])
    parts = [_value(first[1]), *(f"{name}={_short(value)}" for name, value in others)]
    return both_ends(f"{call.name} {', '.join(parts)}", width)


def _short(value: Any) -> str:
    text = _value(value)
    lines = text.strip("\n").count("\n") + 1
    return f"({lines} lines)" if lines > 1 else one_line(text, MAX_ARGUMENT_COLUMNS)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def format_duration(seconds: float, *, whole: bool = False) -> str:
    """Return a duration for people, such as ``1 min 5 s``; ``whole`` drops fractions of seconds."""
    if seconds >= 60:
        minutes, rest = divmod(int(seconds), 60)
        return f"{minutes} min {rest} s"
    if whole:
        return f"{int(seconds)} s"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def refused_tool(notice: Notice) -> str:
    """Return the tool that a notice of a refusal is about; empty for other notices."""
    tool, found, _ = notice.text.partition(" was refused: ")
    return tool if found else ""


def is_confirmation(notice: Notice) -> bool:
    """Whether a notice only confirms what ``@path`` has attached."""
    return notice.plugin == "context-refs" and notice.text.startswith("Attached: ")


def notice_line(notice: Notice) -> str:
    """Return a notice with its plugin."""
    return f"[{notice.plugin}] {notice.text}"


def attachment_line(item: Attachment | Audio) -> str:
    """Return the line for a file of a reply: its kind and path."""
    kind = "audio" if isinstance(item, Audio) else item.mime.partition("/")[0]
    kind = kind if kind in ("audio", "image", "video") else "file"
    return f"[{kind}] {Path(item.path)}"
