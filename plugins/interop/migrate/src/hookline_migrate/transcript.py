"""A conversation of another program as messages of Hookline: calls paired with results, gated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hookline_hookspecs import Host, Message, Origin, Refused, TextBlock, ToolResultBlock
from hookline_hookspecs import ToolCall as Call

KIND = "transcript"
"""What the gate ``pre_learn`` is told; such a text is looked at, not followed."""
TOGETHER = 15_000
"""Characters of messages that pass the gate in one call."""
BREAK = "\n\n-- the next message of a conversation --\n\n"
CUT_SHORT = "Interrupted: the conversation ends before the result."
MOST_NAME = 64


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said: by ``user`` or ``assistant``, or the result of a ``tool``.

    ``at`` is Unix time in seconds. ``calls`` are ``(id, name, arguments)``;
    ``call_id`` and ``name`` say what a tool's result belongs to.
    """

    at: float
    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    call_id: str = ""
    name: str = ""
    ok: bool = True


@dataclass(slots=True)
class Passed:
    """What came through the gate, and why something did not, by its reason."""

    said: list[Said] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """A sentence about what was refused; empty if nothing was."""
        count = sum(self.refused.values())
        if not count:
            return ""
        first = next(iter(self.refused))
        texts = "1 text" if count == 1 else f"{count:,} texts"
        return f"{texts} of {len(self.said):,} left out: {first}"


async def gated(host: Host, said: Sequence[Said], source: str) -> Passed:
    """Pass every text and every argument through ``pre_learn``; what is refused is left out."""
    texts: list[str] = []
    for one in said:
        texts.append(one.text)
        texts += [_json(arguments) for _, _, arguments in one.calls]
    found = Passed()
    passed = iter(await _through(host, texts, source, found))
    for one in said:
        text = next(passed)
        calls = tuple((id_, name, _arguments(next(passed))) for id_, name, _ in one.calls)
        found.said.append(replace(one, text=text, calls=calls))
    return found


async def _through(host: Host, texts: Sequence[str], source: str, found: Passed) -> list[str]:
    out = [""] * len(texts)
    batch: list[int] = []
    size = 0
    for number, text in enumerate([*texts, ""]):
        if batch and (number == len(texts) or size + len(text) > TOGETHER):
            await _batch(host, texts, batch, source, found, out)
            batch, size = [], 0
        if number < len(texts) and text.strip():
            batch.append(number)
            size += len(text) + len(BREAK)
    return out


async def _batch(
    host: Host,
    texts: Sequence[str],
    batch: Sequence[int],
    source: str,
    found: Passed,
    out: list[str],
) -> None:
    """Several texts in one call, or each in its own where that does not give them back."""
    if len(batch) > 1:
        together = BREAK.join(texts[number] for number in batch)
        try:
            parts = (await host.learn(together, source, KIND, origins=())).split(BREAK)
        except Refused:
            parts = []
        if len(parts) == len(batch):
            for number, part in zip(batch, parts, strict=True):
                out[number] = part
            return
    for number in batch:
        try:
            out[number] = await host.learn(texts[number], source, KIND, origins=())
        except Refused as refusal:
            reason = str(refusal)
            found.refused[reason] = found.refused.get(reason, 0) + 1
            out[number] = f"[This text was not moved here: {reason}]"


def messages(said: Iterable[Said], person: Origin, source: str) -> list[tuple[float, Message]]:
    """The conversation as messages, each with its time.

    Every call gets an id of its own and a result. What a tool said came from outside, and what the
    agent said after it may have.
    """
    made: list[tuple[float, Message]] = []
    waiting: dict[str, tuple[str, str]] = {}
    results: list[ToolResultBlock] = []
    outside: tuple[Origin, ...] = ()
    calls = 0
    last = 0.0

    def settle(at: float) -> None:
        """Answer what is open."""
        for id_, _ in waiting.values():
            results.append(ToolResultBlock(id_, CUT_SHORT, ok=False))
        waiting.clear()
        if results:
            made.append((at, Message("user", tuple(results))))
            results.clear()

    for one in said:
        at = last = max(one.at, last)
        if one.role == "tool":
            if one.call_id not in waiting:  # its call is not there: it gets one
                settle(at)
                calls += 1
                waiting[one.call_id] = (f"call_{calls}", _name(one.name))
                made.append(
                    (at, Message("assistant", (Call(f"call_{calls}", _name(one.name), {}),)))
                )
            id_, name = waiting.pop(one.call_id)
            outside = (Origin("outside", f"{source}: {name}"),)
            results.append(ToolResultBlock(id_, one.text, one.ok, origins=outside))
            continue
        settle(at)
        if one.role == "user":
            if one.text.strip():
                made.append((at, Message("user", (TextBlock(one.text, (person,)),))))
            continue
        blocks: list[Any] = [TextBlock(one.text, outside)] if one.text.strip() else []
        for given, name, arguments in one.calls:
            calls += 1
            waiting[given] = (f"call_{calls}", _name(name))
            blocks.append(Call(f"call_{calls}", _name(name), dict(arguments)))
        if blocks:
            made.append((at, Message("assistant", tuple(blocks))))
    settle(last)
    return made


def _name(name: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)
    return kept[:MOST_NAME] or "tool"


def _json(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False) if arguments else ""
    except (TypeError, ValueError, RecursionError):
        return ""


def _arguments(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    return found if isinstance(found, dict) else {"text": text}
