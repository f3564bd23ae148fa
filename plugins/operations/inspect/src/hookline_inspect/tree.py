"""Builds the tree of a turn from its recorded steps; steps of one tool call are grouped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hookline_hookspecs import merge_origins, origins_to_json

from .recorded_step import RecordedStep
from .recorder import Recording
from .traces import Tree

VERDICTS_BY_STRICTNESS = ("deny", "ask", "answer")
AFTER_REPLY_HOOK = "end_of_turn"
"""A hook that runs after the reply, so its time does not count for the turn."""


@dataclass(slots=True)
class _Node:
    seen: RecordedStep
    inside: list[_Node] = field(default_factory=list)


def tree_of(recording: Recording) -> Tree:
    """The turn as a tree of ``type name plugin ms changed verdict reason children at``.

    ``at`` is the start of a step in milliseconds after the first one.
    """
    top = _nested(recording.steps)
    turn = [node.seen for node in top if node.seen.name != AFTER_REPLY_HOOK]
    reasons = [recording.reason] if recording.reason else []
    if recording.left_out:
        reasons.append(f"{recording.left_out} more steps left out")
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
    """Convert times of the clock into milliseconds after ``start``."""
    tree["at"] = round((tree["at"] - start) * 1000, 3)
    for child in tree["children"]:
        _count_from(child, start)


def _nested(steps: Sequence[RecordedStep]) -> list[_Node]:
    """The outermost steps, with the steps inside them."""
    top: list[_Node] = []
    running: list[_Node] = []
    for seen in sorted(steps, key=lambda step: (step.started, -step.ended)):
        node = _Node(seen)
        running = [node for node in running if node.seen.ended >= seen.started]
        around = _around(seen, running)
        (top if around is None else around.inside).append(node)
        running.append(node)
    return top


def _around(seen: RecordedStep, running: Sequence[_Node]) -> _Node | None:
    """The innermost step that encloses this one, or None.

    Calls that run in parallel overlap in time. Therefore a step of the same task comes first, and a
    step that could belong to several calls belongs to none.
    """
    enclosing = [node for node in reversed(running) if node.seen.ended >= seen.ended]
    for node in enclosing:
        if node.seen.task == seen.task:
            return node
    if seen.call is not None:
        enclosing = [node for node in enclosing if node.seen.call in (None, seen.call)]
    calls = {node.seen.call for node in enclosing}
    return enclosing[0] if enclosing and len(calls) == 1 else None


def _by_call(nodes: Sequence[_Node], call: str | None) -> list[Tree]:
    """The nodes as trees, with those of one tool call grouped under it."""
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
    return [_call_tree(calls[tree["call"]]) if "call" in tree else tree for tree in trees]


def _call_tree(nodes: Sequence[_Node]) -> Tree:
    """A tool call as a tree: its guards, its run and the hooks that saw its result."""
    seen = [node.seen for node in nodes]
    strictest, reason = _judgement(seen)
    return {
        "type": "tool_call",
        "name": seen[0].tool,
        "plugin": next((step.owner for step in seen if step.owner), "core"),
        "ms": _ms(seen),
        "changed": None,
        "verdict": strictest,
        "reason": reason,
        "children": _by_call(nodes, seen[0].call),
        "at": min(step.started for step in seen),
        **_from(seen),
    }


def _judgement(steps: Sequence[RecordedStep]) -> tuple[str | None, str | None]:
    """The strictest verdict of the call, and its reason."""
    for verdict in VERDICTS_BY_STRICTNESS:
        for seen in steps:
            if seen.name == "pre_tool" and seen.verdict == verdict:
                return verdict, seen.reason
    failed = next((step for step in steps if step.verdict == "failed"), None)
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


def _from(steps: Sequence[RecordedStep]) -> Tree:
    """The origins of what was read, as ``[kind, source]``; empty if nothing was read."""
    origins = merge_origins(*[step.origins for step in steps])
    return {"origins": origins_to_json(origins)} if origins else {}


def _ms(steps: Sequence[RecordedStep]) -> float:
    """Milliseconds from the first step's start to the last one's end."""
    if not steps:
        return 0.0
    begun, ended = min(step.started for step in steps), max(step.ended for step in steps)
    return round((ended - begun) * 1000, 3)
