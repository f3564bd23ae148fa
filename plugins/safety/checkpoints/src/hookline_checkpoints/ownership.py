"""Tells the agent's changes since a checkpoint from those of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from .change_log import PathState, RecordedCall

Owner: TypeAlias = Literal["agent", "other", "both"]
"""Who changed a path: the chat's agent, someone else (the person, another chat, a program that
outlived its call), or both."""


class Ownership:
    """Who changed which path, by the recorded calls since a checkpoint.

    A change is the agent's if its calls lead from the checkpoint's state to the present one. A path
    that a call of another chat may have changed at the same moment belongs to both.
    """

    def __init__(self, calls: Sequence[RecordedCall], chat: str) -> None:
        self._steps: dict[str, dict[PathState, set[PathState]]] = {}
        self._last: dict[str, PathState] = {}
        self._shared: set[str] = set()
        self.before: dict[str, PathState] = {}
        """The state of each path before the agent first changed it."""
        own = [call for call in calls if call.chat == chat]
        self.named: set[str] = set().union(*(call.named for call in own))
        """The paths that the agent's calls named."""
        others = [call for call in calls if call.chat != chat]
        self._interrupted = any(call.ended is None for call in own)
        for call in own:
            for path, (before, after) in call.changes.items():
                if self._is_of_another(path, call, others):
                    continue
                self.before.setdefault(path, before)
                self._steps.setdefault(path, {}).setdefault(before, set()).add(after)
                self._last[path] = after

    def _is_of_another(self, path: str, call: RecordedCall, others: Sequence[RecordedCall]) -> bool:
        """Whether another chat's call certainly changed ``path`` instead of ``call``."""
        if path in call.named:
            return False
        rivals = [other for other in others if path in other.changes and call.overlaps(other)]
        if any(path in rival.named for rival in rivals):
            return True
        if rivals:
            self._shared.add(path)
        return False

    def of(self, path: str, start: PathState, now: PathState) -> Owner:
        """Return who changed ``path`` from the checkpoint's state to the present one."""
        steps = self._steps.get(path)
        if steps is None:
            return "both" if self._interrupted else "other"
        if path in self._shared:
            return "both"
        if now in _reachable(steps, start):
            return "agent"
        untouched = self._last[path] == start and not self._interrupted
        return "other" if untouched else "both"


def _reachable(steps: Mapping[PathState, set[PathState]], start: PathState) -> set[PathState]:
    """Return the states to which the agent's changes lead."""
    found, pending = {start}, [start]
    while pending:
        for state in steps.get(pending.pop(), ()):
            if state not in found:
                found.add(state)
                pending.append(state)
    return found
