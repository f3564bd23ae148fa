"""``assert_prompt_stable``: each request of a session repeats the previous one byte for byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import WireRequest

if TYPE_CHECKING:
    from .harness import Harness

AROUND = 24
"""Number of bytes shown before and after the first difference."""


@dataclass(frozen=True, slots=True)
class _Break:
    """Where a request first differs from the previous one. ``at`` is an offset in bytes."""

    tier: str
    message: int | None
    at: int
    before: bytes
    after: bytes


def assert_prompt_stable(sent: Harness | Sequence[WireRequest]) -> None:
    """Assert that every request of a session repeats the previous one, so that caching works.

    The system prompt and the tools must be the same bytes in each, and the encoded messages of one
    must be the first messages of the next. Cache markers, which move, are ignored. Requests are
    grouped by ``session_id`` and by model, because each model has its own cache.

    Args:
        sent: a harness, whose model's requests for turns are compared (those made by
            ``ask_model`` are not), or the ``WireRequest`` objects of any provider, in order.

    Raises:
        AssertionError: a sentence with the tier, the message, the first differing byte and, for a
            harness, the plugin that changed it; or if there are no two requests to compare.
    """
    __tracebackhide__ = True
    wires, steps = _sent(sent)
    compared = 0
    for (session, model), group in _groups(wires).items():
        for number, (before, after) in enumerate(pairwise(group), 2):
            compared += 1
            found = _first_break(before, after)
            if found is not None:
                plugin = _changed_by(found, session, steps)
                raise AssertionError(_sentence(found, number, session, model, plugin))
    if not compared:
        raise AssertionError(
            f"no session has sent two requests to the same model ({len(wires)} in all), so nothing "
            f"can be compared; send a second message in the same session first"
        )


def _sent(sent: Any) -> tuple[list[WireRequest], Sequence[Any]]:
    """Return the requests, and the plugins' steps if they are known."""
    if not hasattr(sent, "model"):
        return list(sent), ()
    pairs = zip(sent.model.wires, sent.model.requests, strict=True)
    wires = [wire for wire, request in pairs if request.purpose == "turn"]
    return wires, [*sent.hooks["pre_model"], *sent.hooks["pre_send"]]


def _groups(wires: Sequence[WireRequest]) -> Mapping[tuple[str, str], list[WireRequest]]:
    groups: dict[tuple[str, str], list[WireRequest]] = {}
    for wire in wires:
        groups.setdefault((wire.session_id, wire.model or wire.provider), []).append(wire)
    return groups


def _first_break(before: WireRequest, after: WireRequest) -> _Break | None:
    for tier in sorted({*before.stable, *after.stable}):
        old, new = before.stable.get(tier, b""), after.stable.get(tier, b"")
        if old != new:
            return _Break(tier, None, _offset(old, new), old, new)
    for index, old in enumerate(before.fragments):
        new = after.fragments[index] if index < len(after.fragments) else b""
        if old != new:
            return _Break("history", index, _offset(old, new), old, new)
    return None


def _offset(old: bytes, new: bytes) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


def _changed_by(found: _Break, session: str, steps: Sequence[Any]) -> str | None:
    """Return the plugin whose step produced one of the two differing versions."""
    for step in reversed(steps):
        result = step.result
        if step.error is not None or result is None or result.session_id != session:
            continue
        old, new = _part(found, step.event), _part(found, result)
        neutral = not isinstance(result, WireRequest)
        if old != new and (neutral or new in (found.before, found.after)):
            return str(step.plugin)
    return None


def _part(found: _Break, event: Any) -> Any:
    """Return the part of a request, rendered or provider-neutral, that contains the break."""
    parts = event.fragments if isinstance(event, WireRequest) else event.messages
    if found.message is not None:
        return parts[found.message] if found.message < len(parts) else b""
    if isinstance(event, WireRequest):
        return event.stable.get(found.tier, b"")
    return getattr(event, found.tier, None)


def _sentence(found: _Break, number: int, session: str, model: str, plugin: str | None) -> str:
    where = f"the {found.tier} part" if found.message is None else f"message {found.message + 1}"
    tier = "stable" if found.message is None else "history"
    who = f"; plugin {plugin} changed it" if plugin else ""
    return (
        f"request {number} of session {session or '(none)'} to {model} does not repeat the one "
        f"before it: in the {tier} tier {where} differs from byte {found.at} on{who}. "
        f"Before: {_excerpt(found.before, found.at)}. Now: {_excerpt(found.after, found.at)}. "
        f"{_advice(found)}"
    )


def _excerpt(data: bytes, at: int) -> str:
    if not data:
        return "nothing"
    begin = max(0, at - AROUND)
    cut = data[begin : at + AROUND].decode("utf-8", "replace")
    return f"`{'…' if begin else ''}{cut}{'…' if at + AROUND < len(data) else ''}`"


def _advice(found: _Break) -> str:
    if found.message is None:
        return (
            "A session's prompt must not change until the session ends; put what depends on the "
            "moment into pre_prompt."
        )
    return "Earlier messages must be sent again unchanged; add to the newest message instead."
