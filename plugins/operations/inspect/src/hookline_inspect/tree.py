"""From recorded steps to the tree of a turn: what ran inside of what, tool calls by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hookline_hookspecs import merge_origins, origins_to_json

from .recorder import Recording
from .step import Seen
from .traces import Tree

STRICTNESS = ("deny", "ask", "answer")
LATE = "end_of_turn"
"""A hook that runs after the reply, so that its time is none of the turn's."""


@dataclass(slots=True)
class _Node:
    seen: Seen
    inside: list[_Node] = field(default_factory=list)


def tree_of(recording: Recording) -> Tree:
    """The turn as a tree of ``type name plugin ms changed verdict reason children``, each step with
    ``at``, the milliseconds after the first one at which it began."""
    top = _nested(recording.steps)
    turn = [node.seen for node in top if node.seen.name != LATE]
    reasons = [recording.reason] if recording.reason else []
    if recording.left_out:
        reasons.append(f"{recording.left_out} more steps were left out")
    tree: Tree = {
        "type": "turn",
        "name": recording.turn_id,
        "plugin": "core",
        "ms": _ms(turn),
        "changed": None,
        "verdict": recording.stop or None,
        "reason": "; ".join(reasons) or None,
        "children": _by_call(top, None),
        "at": min([seen.started for seen in recording.steps], default=0.0),
    }
    _count_from(tree, tree["at"])
    return tree


def _count_from(tree: Tree, start: float) -> None:
    """Turn the clock's values into milliseconds after ``start``."""
    tree["at"] = round((tree["at"] - start) * 1000, 3)
    for child in tree["children"]:
        _count_from(child, start)


def _nested(steps: Sequence[Seen]) -> list[_Node]:
    """The steps that are in no other, with those that are in them."""
    top: list[_Node] = []
    running: list[_Node] = []
    for seen in sorted(steps, key=lambda one: (one.started, -one.ended)):
        node = _Node(seen)
        running = [one for one in running if one.seen.ended >= seen.started]
        around = _around(seen, running)
        (top if around is None else around.inside).append(node)
        running.append(node)
    return top


def _around(seen: Seen, running: Sequence[_Node]) -> _Node | None:
    """The innermost step that encloses this one. Times do not tell among calls side by side, so
    the same task counts first, and a step that could be in several calls is in none."""
    enclosing = [one for one in reversed(running) if one.seen.ended >= seen.ended]
    for one in enclosing:
        if one.seen.task == seen.task:
            return one
    if seen.call is not None:
        enclosing = [one for one in enclosing if one.seen.call in (None, seen.call)]
    calls = {one.seen.call for one in enclosing}
    return enclosing[0] if enclosing and len(calls) == 1 else None


def _by_call(nodes: Sequence[_Node], call: str | None) -> list[Tree]:
    """The nodes as trees; those of one tool call stand together under it."""
    trees: list[Tree] = []
    calls: dict[str, list[_Node]] = {}
    for node in nodes:
        mine = node.seen.call
        if mine is None or mine == call:
            trees.append(_tree(node))
        elif mine in calls:
            calls[mine].append(node)
        else:
            calls[mine] = [node]
            trees.append({"call": mine})
    return [_call_tree(calls[one["call"]]) if "call" in one else one for one in trees]


def _call_tree(nodes: Sequence[_Node]) -> Tree:
    """A tool call: what judged it, ran it and looked at its result."""
    seen = [node.seen for node in nodes]
    strictest, reason = _judgement(seen)
    return {
        "type": "tool_call",
        "name": seen[0].tool,
        "plugin": next((one.owner for one in seen if one.owner), "core"),
        "ms": _ms(seen),
        "changed": None,
        "verdict": strictest,
        "reason": reason,
        "children": _by_call(nodes, seen[0].call),
        "at": min(one.started for one in seen),
        **_from(seen),
    }


def _judgement(steps: Sequence[Seen]) -> tuple[str | None, str | None]:
    """The strictest verdict of the call, and its reason."""
    for verdict in STRICTNESS:
        for seen in steps:
            if seen.name == "pre_tool" and seen.verdict == verdict:
                return verdict, seen.reason
    failed = next((one for one in steps if one.verdict == "failed"), None)
    return (failed.verdict, failed.reason) if failed is not None else (None, None)


def _tree(node: _Node) -> Tree:
    seen = node.seen
    return {
        "type": seen.type,
        "name": seen.name,
        "plugin": seen.plugin,
        "ms": _ms([seen]),
        "changed": seen.changed,
        "verdict": seen.verdict,
        "reason": seen.reason,
        "children": _by_call(node.inside, seen.call),
        "at": seen.started,
        **_from([seen]),
    }


def _from(steps: Sequence[Seen]) -> Tree:
    """Where what was read came from, as ``[kind, source]``; nothing where nothing was read."""
    origins = merge_origins(*[one.origins for one in steps])
    return {"origins": origins_to_json(origins)} if origins else {}


def _ms(steps: Sequence[Seen]) -> float:
    """Milliseconds from the first step's start to the last one's end."""
    if not steps:
        return 0.0
    begun, ended = min(one.started for one in steps), max(one.ended for one in steps)
    return round((ended - begun) * 1000, 3)
