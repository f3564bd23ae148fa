"""Show what happened in a turn, step by step.

``hookline trace``.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import Host, origins_from_json
from hookline_hookspecs.cli import with_plugin
from hookline_hookspecs.stored_origins import named, strangers

from .. import traces
from ..output import FAILED, exit_with_error, print_json, print_text
from ..sessions import exit_unknown_session, find_session, local_time

if TYPE_CHECKING:
    from .. import Inspect

HOW_TO_TRACE = "set `trace: true` in config.yaml, or trace one turn with `hookline run --trace`"

MAX_SESSIONS = 1_000_000
"""Sessions that are searched for an id prefix."""


@with_plugin
async def trace(
    plugin: Inspect,
    session: Annotated[
        str | None, typer.Argument(help="The session. Default: the latest.", show_default=False)
    ] = None,
    turn: Annotated[
        int | None,
        typer.Option(min=1, help="The turn's number. Default: the last turn.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what happened in a turn, step by step.

    Turns are recorded while tracing is on.
    """
    host = plugin.host
    session_id = session or await traces.latest_session(host)
    if session_id is None:
        exit_with_error(f"no turn has been traced yet; {HOW_TO_TRACE}", FAILED)
    kept = await traces.session_traces(host, session_id)
    if not kept:
        session_id = await _find_session_id(host, session_id)
        kept = await traces.session_traces(host, session_id)
    if not kept:
        exit_with_error(f"no turn of session {session_id} was traced; {HOW_TO_TRACE}", FAILED)
    ids = await host.storage.fetch("turn_ids", id=session_id)
    numbers = {row["turn_id"]: number for number, row in enumerate(ids, 1)}
    found = _choose_trace(session_id, kept, numbers, turn)
    tree = jsonlib.loads(found["tree"])
    if json:
        print_json(_public_tree(tree))
        return
    number = numbers.get(found["turn_id"])
    named = f"turn {number}" if number else "a turn that was undone"
    print_text(f"Session {session_id}, {named}, {local_time(found['started'])}: {_line(tree)}")
    for line in _lines(tree, ""):
        print_text(line)


def _public_tree(tree: traces.Tree) -> traces.Tree:
    """The tree with only the documented keys."""
    children = [_public_tree(child) for child in tree["children"]]
    return {key: value for key, value in tree.items() if key != "at"} | {"children": children}


async def _find_session_id(host: Host, named: str) -> str:
    """The session's id by its beginning, found without ``host.storage``, which creates tables."""
    ids = [
        session.id
        for session in await host.sessions(limit=MAX_SESSIONS)
        if session.id.startswith(named)
    ]
    if named in ids or len(ids) == 1:
        return named if named in ids else ids[0]
    if not ids:
        exit_unknown_session(named)
    return str((await find_session(host, named))["id"])


def _choose_trace(
    session_id: str, kept: list[Mapping[str, Any]], numbers: Mapping[str, int], turn: int | None
) -> Mapping[str, Any]:
    if turn is None:
        return kept[-1]
    by_number = {numbers.get(row["turn_id"]): row for row in kept}
    if turn not in by_number:
        traced = ", ".join(str(number) for number in by_number if number) or "none"
        exit_with_error(f"session {session_id} has no trace of turn {turn}. Traced turns: {traced}")
    return by_number[turn]


def _lines(tree: traces.Tree, margin: str) -> Iterator[str]:
    for child in tree["children"]:
        last = child is tree["children"][-1]
        yield f"{margin}{'└─' if last else '├─'} {child['type']} {_named(child)}: {_line(child)}"
        yield from _lines(child, margin + ("   " if last else "│  "))


def _named(tree: traces.Tree) -> str:
    return tree["name"] if tree["type"] == "model" else f"{tree['name']} ({tree['plugin']})"


def _line(tree: traces.Tree) -> str:
    """Time, change, verdict and reason of a step."""
    parts = [f"{tree['ms']:.1f} ms"]
    if (changed := tree["changed"]) is not None:
        names = ", ".join(changed["fields"])
        parts.append(f"changed {names} (−{changed['removed']} +{changed['added']} characters)")
    parts += [part for part in (tree["verdict"], tree["reason"]) if part]
    if others := strangers(origins_from_json(tree.get("origins"))):
        parts.append(f"from {named(others)}")
    return ", ".join(parts)
