"""What happens in a turn, as lines for people, and what a signal's context tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Audio
from hookline_markdown import literal, one_line

if TYPE_CHECKING:
    from hookline_hookspecs import Attachment, Context, Notice, ToolCall, ToolResult

CHANNEL = "terminal"
LONGEST = 100
"""Characters of a line about a tool call."""
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


def call_line(call: ToolCall) -> str:
    """A tool call: its name and, shortened, its arguments."""
    values = list(call.arguments.values())
    if len(values) == 1:
        shown = _value(values[0])
    else:
        shown = ", ".join(f"{name}={_value(value)}" for name, value in call.arguments.items())
    return one_line(f"{call.name} {shown}", LONGEST)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def result_line(result: ToolResult) -> str:
    """A tool's result: the call, whether it worked, and how long it took."""
    took = f"{result.seconds * 1000:.0f} ms"
    if result.ok:
        return f"✓ {call_line(result.call)} · ok · {took}"
    why = one_line(result.text, LONGEST)
    return f"✗ {call_line(result.call)} · failed · {took}\n  {why}"


def notice_line(notice: Notice) -> str:
    """A notice with the plugin it came from."""
    return f"[{literal(notice.plugin)}] {literal(notice.text)}"


def attachment_line(item: Attachment | Audio) -> str:
    """A file of a reply, by its path."""
    kind = "audio" if isinstance(item, Audio) else item.mime.partition("/")[0]
    kind = kind if kind in ("audio", "image", "video") else "file"
    return f"[{kind}] {literal(str(Path(item.path)))}"
