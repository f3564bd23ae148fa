"""What a tool that reads names outside the workspace."""

from __future__ import annotations

import os
from pathlib import Path

from hookline_hookspecs import Paths, ToolCall

from .offers import READING_TOOLS


def readable_place(call: ToolCall, paths: Paths) -> Path | None:
    """The real path that a reading tool names and the path guard refuses; None for others.

    Whether it may be read is not decided here.
    """
    named = call.arguments.get("path")
    if call.name not in READING_TOOLS or not isinstance(named, str) or not named or "\0" in named:
        return None
    if paths.check_path(named) is None:
        return None
    return Path(os.path.realpath(Path(paths.workspace, os.path.expanduser(named))))  # noqa: PTH111
