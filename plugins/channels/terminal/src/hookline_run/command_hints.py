"""Rewrites slash commands in notices and errors for the command line.

Core and plugins name slash commands. Of ``hookline run``, some are options, and the others need
the session.
"""

from __future__ import annotations

import re
import shlex

OPTIONS = {"model": "`--model PROVIDER/MODEL`", "new": "a run without `--session`"}
"""Slash commands and what does the same on the command line."""
COMMANDS = (
    *("accept", "approve", "compact", "context", "deny", "help", "insights", "memory", "mode"),
    *("questions", "rewind", "sessions", "skills", "status", "undo", "usage"),
)
"""Slash commands that ``hookline run --session ID`` accepts."""
_SLASH = re.compile(rf"(?<![\w/.`-])/({'|'.join([*OPTIONS, *COMMANDS])})(?![\w/-]|\.\w)")
_BOTH_FORMS = re.compile(r"/model or `--model`")


def for_command_line(text: str, session: str | None) -> str:
    """Return a notice or an error with its slash commands as command lines."""

    def replacement(found: re.Match[str]) -> str:
        name = found[1]
        if name in OPTIONS:
            return OPTIONS[name]
        named = f"--session {shlex.quote(session)} " if session else ""
        return f"`hookline run {named}/{name}`"

    return _SLASH.sub(replacement, _BOTH_FORMS.sub("/model", text))
