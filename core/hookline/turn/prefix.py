"""Keeps the cached prefix: the stable tier stays as it was sent first, and a break is named."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from hookline_hookspecs.requests import ModelRequest, PrefixBreak, WireRequest

from ..bus.implementation import Implementation
from ..sessions.context import TurnContext
from ..sessions.prompt import stable_prompt
from ..text import dump


class StableKeeper:
    """Keeps system prompt and tools as the session's first request had them."""

    def __init__(self, ctx: TurnContext, request: ModelRequest) -> None:
        self._ctx = ctx
        self._first = not ctx.state.flags.frozen
        self._kept = (request.system, request.tools)
        self._applies = request.purpose == "turn"

    def check(
        self, implementation: Implementation, _before: ModelRequest, after: ModelRequest
    ) -> ModelRequest:
        """Put back what a step changed, and name its plugin; the first request may be changed."""
        if not self._applies or self._first or (after.system, after.tools) == self._kept:
            return after
        part = "system prompt" if after.system != self._kept[0] else "tools"
        _report_prefix_change(self._ctx, implementation, part)
        return replace(after, system=self._kept[0], tools=self._kept[1])

    async def freeze(self, request: ModelRequest) -> None:
        """Freeze what the session's first request sends, for all later ones."""
        if not (self._applies and self._first):
            return
        state = self._ctx.state
        state.flags.frozen = True
        if (request.system, request.tools) != self._kept:
            state.stable = stable_prompt(request.system, request.tools, state.stable.parts)
            await self._ctx.engine.journal.refreeze(state.record.id, state.stable)


def _report_prefix_change(ctx: TurnContext, implementation: Implementation, part: str) -> None:
    plugin = implementation.plugin
    told = f"tried to change the {part} in the middle of the session; the change was not sent"
    ctx.engine.bus.signals.send_failure(plugin, implementation.spec.name, f"it {told}", ctx=ctx)
    ctx.notify(f"Plugin {plugin} {told}. It can do so when the session starts.")


class PrefixKeeper:
    """Keeps the rendered stable tier; tells when bytes sent before are not sent again, and why."""

    def __init__(self, ctx: TurnContext, wire: WireRequest) -> None:
        self._ctx = ctx
        self._rendered = wire.stable
        self._changed_by = "core"

    def check(
        self, implementation: Implementation, before: WireRequest, after: WireRequest
    ) -> WireRequest:
        """Note the plugin that changed the prefix; the stable tier is put back."""
        if after.stable != self._rendered:
            after = replace(after, stable=self._rendered)
            _report_prefix_change(self._ctx, implementation, "stable prompt")
        kept = after.fragments[: len(before.fragments)] == before.fragments
        if not kept or after.fields.get("system") != before.fields.get("system"):
            self._changed_by = implementation.plugin
        return after

    def remember(self, model: str, wire: WireRequest) -> PrefixBreak | None:
        """Compare with the last request to the same model, and keep this one for the next."""
        prefix = self._ctx.state.cache.prefix
        system = dump(wire.fields.get("system")).encode()
        now = {**wire.stable, "system prompt of the call": system}, wire.fragments
        last = prefix.get(model)
        prefix[model] = now
        place = _first_difference(last, now) if last is not None else None
        return None if place is None else PrefixBreak(place[0], self._changed_by, *place[1:], model)


_Sent: TypeAlias = "tuple[dict[str, bytes], tuple[bytes, ...]]"


def _first_difference(last: _Sent, now: _Sent) -> tuple[str, int, int] | None:
    """Tier, number of the message and byte, or None if ``now`` only adds to ``last``."""
    for tier in ("tools", "system", *now[0]):
        old, new = last[0].get(tier, b""), now[0].get(tier, b"")
        if old != new:
            return tier, 0, _offset(old, new)
    if now[1][: len(last[1])] == last[1]:
        return None
    for number, old in enumerate(last[1], 1):
        new = now[1][number - 1] if number <= len(now[1]) else b""
        if old != new:
            return "history", number, _offset(old, new)
    return None


def _offset(old: bytes, new: bytes) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))
