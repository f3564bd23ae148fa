"""Sentences of core and plugins as they hold on the command line.

They name slash commands, which a chat has. ``hookline run`` has them too, but for a session that is
named, and some are options here.
"""

from __future__ import annotations

import re
import shlex

OPTIONS = {"model": "`--model PROVIDER/MODEL`", "new": "a run without `--session`"}
"""What takes the place of a command."""
COMMANDS = (
    *("accept", "approve", "compact", "context", "deny", "help", "insights", "memory", "mode"),
    *("rewind", "sessions", "skills", "status", "undo", "usage"),
)
"""Commands that a run of the same session can be asked for."""
_SLASH = re.compile(rf"(?<![\w/.`-])/({'|'.join([*OPTIONS, *COMMANDS])})(?![\w/-]|\.\w)")
_TWICE = re.compile(r"/model or `--model`")


def for_command_line(text: str, session: str | None) -> str:
    """Return a notice or an error with what can be done on the command line."""

    def instead(found: re.Match[str]) -> str:
        name = found[1]
        if name in OPTIONS:
            return OPTIONS[name]
        named = f"--session {shlex.quote(session)} " if session else ""
        return f"`hookline run {named}/{name}`"

    return _SLASH.sub(instead, _TWICE.sub("/model", text))
