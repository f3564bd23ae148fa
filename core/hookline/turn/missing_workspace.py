"""Tells the model and the person that the session's workspace was moved or deleted."""

from __future__ import annotations

import os
from pathlib import Path

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.tool_results import ToolResult

from ..sessions.context import TurnContext

FOR_MODEL = (
    "The workspace {folder} does not exist any more: it was moved or deleted. Move it back if you "
    "moved it. Otherwise do not create it again; tell the person, who may know where it is."
)
FOR_PERSON = "The workspace {folder} does not exist any more. Move it back, or {change}."
IN_TERMINAL = "run `hookline chat --continue` in its new place"
ON_CHANNEL = "run `hookline config set workspace NEW_PLACE`"
RETURNED = "The workspace {folder} exists again."


def check_workspace(ctx: TurnContext) -> str | None:
    """Return what the model is to know at the beginning of a turn. Tells the person, too.

    A chat's own folder is created again.
    """
    folder, flags = ctx.state.workspace, ctx.state.flags
    if _exists(folder):
        was_missing, flags.workspace_missing = flags.workspace_missing, False
        return RETURNED.format(folder=folder) if was_missing else None
    if folder.is_relative_to(ctx.engine.home / "chats"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return f"The workspace {folder} had been deleted; it is empty now."
    return _tell(ctx, folder)


def missing_workspace_note(ctx: TurnContext, result: ToolResult) -> str | None:
    """Return a note for a call that failed in a missing workspace, or after which it is missing."""
    folder, flags = ctx.state.workspace, ctx.state.flags
    if _exists(folder) or (result.ok and flags.workspace_missing):
        return None
    return _tell(ctx, folder)


def _exists(folder: Path) -> bool:
    return os.path.isdir(folder)  # noqa: PTH112 - a folder that may not be read is no error here


def _tell(ctx: TurnContext, folder: Path) -> str:
    if not ctx.state.flags.workspace_missing:
        ctx.state.flags.workspace_missing = True
        change = IN_TERMINAL if ctx.state.record.channel == TERMINAL else ON_CHANNEL
        ctx.notify(FOR_PERSON.format(folder=folder, change=change))
    return FOR_MODEL.format(folder=folder)
