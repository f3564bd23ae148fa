"""Protects the cached prefix of requests: undoes changes to the stable prompt, reports breaks.

A provider caches the beginning of a request and charges less for it next time, but only while its
bytes stay the same: the stable prompt (system prompt and tools), then the history.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from hookline_hookspecs.requests import ModelRequest, PrefixBreak, WireRequest

from ..bus.implementation import Implementation
from ..sessions.context import TurnContext
from ..sessions.prompt import stable_prompt
from ..text import dump


class StablePromptCheck:
    """Keeps the system prompt and tools of the session's first request."""

    def __init__(self, ctx: TurnContext, request: ModelRequest) -> None:
        self._ctx = ctx
        self._is_first = not ctx.state.flags.frozen
        self._frozen = (request.system, request.tools)
        self._applies = request.purpose == "turn"

    def check(
        self, implementation: Implementation, _before: ModelRequest, after: ModelRequest
    ) -> ModelRequest:
        """Undo and report a plugin's change, unless this is the session's first request."""
        if not self._applies or self._is_first or (after.system, after.tools) == self._frozen:
            return after
        system, tools = self._frozen
        part = "system prompt" if after.system != system else "tools"
        _report_prefix_change(self._ctx, implementation, part)
        return replace(after, system=system, tools=tools)

    async def freeze(self, request: ModelRequest) -> None:
        """Store the prompt of the session's first request, for all later requests."""
        if not (self._applies and self._is_first):
            return
        state = self._ctx.state
        state.flags.frozen = True
        if (request.system, request.tools) != self._frozen:
            state.stable = stable_prompt(request.system, request.tools, state.stable.parts)
            await self._ctx.engine.journal.refreeze(state.record.id, state.stable)


def _report_prefix_change(ctx: TurnContext, implementation: Implementation, part: str) -> None:
    plugin = implementation.plugin
    reason = f"tried to change the {part} in the middle of the session; the change was not sent"
    ctx.engine.bus.signals.send_failure(plugin, implementation.spec.name, f"it {reason}", ctx=ctx)
    ctx.notify(f"Plugin {plugin} {reason}. It can do so when the session starts.")


class WirePrefixCheck:
    """Keeps the rendered stable prompt, and finds where a request differs from the last one."""

    def __init__(self, ctx: TurnContext, wire: WireRequest) -> None:
        self._ctx = ctx
        self._rendered = wire.stable
        self._changed_by = "core"

    def check(
        self, implementation: Implementation, before: WireRequest, after: WireRequest
    ) -> WireRequest:
        """Undo a change of the stable prompt, and record which plugin changed the prefix."""
        if after.stable != self._rendered:
            after = replace(after, stable=self._rendered)
            _report_prefix_change(self._ctx, implementation, "stable prompt")
        history_kept = after.fragments[: len(before.fragments)] == before.fragments
        if not history_kept or after.fields.get("system") != before.fields.get("system"):
            self._changed_by = implementation.plugin
        return after

    def remember(self, model: str, wire: WireRequest) -> PrefixBreak | None:
        """Remember this request; return the break since the last one to the same model, if any."""
        prefix = self._ctx.state.cache.prefix
        system = dump(wire.fields.get("system")).encode()
        now: _SentPrefix = {**wire.stable, "system prompt of the call": system}, wire.fragments
        last = prefix.get(model)
        prefix[model] = now
        difference = _first_difference(last, now) if last is not None else None
        if difference is None:
            return None
        tier, message, byte = difference
        return PrefixBreak(tier, self._changed_by, message, byte, model)


_SentPrefix: TypeAlias = "tuple[dict[str, bytes], tuple[bytes, ...]]"
"""The stable prompt by part, and the history by message."""


def _first_difference(last: _SentPrefix, now: _SentPrefix) -> tuple[str, int, int] | None:
    """Return tier, message number and byte offset; None if ``now`` only adds to ``last``."""
    (last_stable, last_history), (stable, history) = last, now
    for tier in ("tools", "system", *stable):
        old, new = last_stable.get(tier, b""), stable.get(tier, b"")
        if old != new:
            return tier, 0, _first_different_byte(old, new)
    if history[: len(last_history)] == last_history:
        return None
    for number, old in enumerate(last_history, 1):
        new = history[number - 1] if number <= len(history) else b""
        if old != new:
            return "history", number, _first_different_byte(old, new)
    return None


def _first_different_byte(old: bytes, new: bytes) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))
