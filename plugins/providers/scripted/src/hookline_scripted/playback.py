"""Picks the step that answers a request, and makes its response."""

from __future__ import annotations

import json
import re
from functools import cached_property
from itertools import count

from hookline_hookspecs import (
    AuthError,
    BadRequest,
    Block,
    ContextTooLong,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
    TextBlock,
    ToolCall,
    Usage,
    WireRequest,
)

from . import wire as wires
from .script import Fault, Script, ScriptedCall, Step

MAX_QUOTED_CHARS = 300
"""Characters of the last message that an error quotes."""

_ERRORS: dict[str, type[ProviderError]] = {
    kind.kind: kind
    for kind in (AuthError, RateLimited, Overloaded, ContextTooLong, BadRequest, NetworkError)
}
_OWN_IDS = re.compile(rb'"id":"call_(\d{1,9})"')


class RequestText:
    """The texts of a request that a step's conditions are matched against."""

    def __init__(self, wire: WireRequest) -> None:
        self._wire = wire

    @cached_property
    def last(self) -> str:
        """The text of the last message as sent."""
        fragments = self._wire.fragments
        return wires.message_text(fragments[-1]) if fragments else ""

    @cached_property
    def system(self) -> str:
        """The system prompt."""
        return wires.system_text(self._wire)

    @cached_property
    def all(self) -> str:
        """System prompt and all messages."""
        return "\n".join([self.system, *map(wires.message_text, self._wire.fragments)])

    def matches(self, step: Step) -> bool:
        """Return whether every condition of the step is met."""
        return (
            (step.when is None or bool(step.when.search(self.last)))
            and (step.when_system is None or bool(step.when_system.search(self.system)))
            and (step.when_any is None or bool(step.when_any.search(self.all)))
        )


def take_step(script: Script, wire: WireRequest) -> Step:
    """Return the first unused step that matches, and mark it used unless it repeats.

    Raises:
        BadRequest: no step matches.
    """
    request = RequestText(wire)
    for step in script.steps:
        if not step.used and request.matches(step):
            step.used = not step.repeat
            return step
    left = sum(not step.used for step in script.steps)
    head = request.last[:MAX_QUOTED_CHARS] + ("…" if len(request.last) > MAX_QUOTED_CHARS else "")
    raise BadRequest(
        f"{script.path}: no step matches ({left} of {len(script.steps)} steps are unused)."
        " Add a step whose 'when' matches, or set 'repeat: true' on one."
        f" The last message begins: {head}"
    )


def fault_error(script: Script, fault: Fault) -> ProviderError:
    """Return the provider error of a fault."""
    text = f"The scripted model failed as {script.path} asks: {fault.kind}."
    return _ERRORS[fault.kind](text, retry_after=fault.retry_after)


def blocks(step: Step, wire: WireRequest) -> tuple[Block, ...]:
    """Return the text and the calls of a step; ``tool_choice`` none leaves the calls out."""
    text: tuple[Block, ...] = (TextBlock(step.text),) if step.text else ()
    if wire.fields.get("tool_choice") == "none":
        return text
    kind = step.fault.kind if step.fault else ""
    first = 1 + _highest_id(wire)
    calls = (_call(f"call_{n}", call, kind) for n, call in zip(count(first), step.tools))
    return (*text, *calls)


def _highest_id(wire: WireRequest) -> int:
    # Counted from the request: a history that another process continues has no id twice, and the
    # same history always gets the same ids.
    found = (int(n) for part in wire.fragments for n in _OWN_IDS.findall(part))
    return max(found, default=0)


def _call(call_id: str, call: ScriptedCall, fault: str) -> ToolCall:
    match fault:
        case "bad_arguments":
            error = f"the arguments of {call.name} were not valid JSON; send the call again"
            return ToolCall(call_id, call.name, {}, error)
        case "no_name":
            error = "the call named no tool; send it again with the name of a tool"
            return ToolCall(call_id, "", call.arguments, error)
        case _:
            return ToolCall(call_id, call.name, call.arguments)


def usage(now: tuple[bytes, ...], before: tuple[bytes, ...], answer: tuple[Block, ...]) -> Usage:
    """Count tokens as characters / 4; ``cache_read`` is what equals the previous request."""
    return Usage(
        input=_tokens(sum(map(_characters, now))),
        cache_read=_common_characters(now, before) // 4,
        output=_tokens(sum(map(_length, answer))),
    )


def _common_characters(now: tuple[bytes, ...], before: tuple[bytes, ...]) -> int:
    total = 0
    for new, old in zip(now, before):  # noqa: B905 - the shorter one ends the prefix
        if new != old:
            pairs = enumerate(zip(new, old))  # noqa: B905
            same = next((i for i, (a, b) in pairs if a != b), min(len(new), len(old)))
            return total + _characters(new[:same])
        total += _characters(new)
    return total


def _characters(part: bytes) -> int:
    return len(part.decode("utf-8", "replace"))


def _length(block: Block) -> int:
    match block:
        case TextBlock(text):
            return len(text)
        case ToolCall(name=name, arguments=arguments):
            return len(name) + len(json.dumps(arguments, ensure_ascii=False))
        case _:
            return 0


def _tokens(characters: int) -> int:
    return -(-characters // 4)
