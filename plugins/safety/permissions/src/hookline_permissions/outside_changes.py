"""What a call would destroy outside of the workspace, by the effects that its tool declares.

Commands are not looked at here: rules and the sandbox are about them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from hookline_hookspecs import Checkpoints, Context, Effect, ToolCall

COMMANDS = "bash"
"""The tool whose calls run in the sandbox."""
_VERBS = {"write": "replaces", "delete": "deletes"}


def destroyed(ctx: Context, call: ToolCall) -> dict[Path, str]:
    """What is there outside of the workspace and would be replaced or deleted, and which of both.

    A new file destroys nothing.
    """
    if call.name == COMMANDS:
        return {}
    return {place: _VERBS[kind] for place, kind in _hit(ctx, ctx.effects(call))}


async def question(ctx: Context, call: ToolCall) -> str:
    """Why a person should approve a call, as a sentence; empty where a checkpoint brings back what
    it destroys, or where it destroys nothing."""
    lost = destroyed(ctx, call)
    checkpoints = ctx.host.services.get(Checkpoints) if lost else None
    if checkpoints is not None:
        lost = {
            place: verb for place, verb in lost.items() if not await checkpoints.hold(ctx, place)
        }
    what = ", and ".join(f"{verb} {str(place)!r}" for place, verb in lost.items())
    return f"{call.name} {what} outside the workspace" if what else ""


def _hit(ctx: Context, effects: tuple[Effect, ...]) -> Iterator[tuple[Path, str]]:
    workspace = ctx.paths.workspace
    for effect in effects:
        if effect.kind not in _VERBS or not effect.target or "\0" in effect.target:
            continue
        place = Path(workspace, Path(effect.target).expanduser())
        # The folder's links lead to where it happens; a link itself is what a deletion takes away.
        place = Path(os.path.realpath(place if effect.kind == "write" else place.parent))
        if effect.kind == "delete":
            place /= Path(effect.target).name
        if place.is_relative_to(workspace) or not os.path.lexists(place):
            continue
        if effect.kind == "delete" or not place.is_dir():
            yield place, effect.kind
