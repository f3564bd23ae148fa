"""Converts another program's conversation to messages, screened by ``pre_learn``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hookline_hookspecs import Host, Message, Origin, Refused, TextBlock, ToolResultBlock
from hookline_hookspecs import ToolCall as Call

KIND = "transcript"
"""The kind passed to ``pre_learn``: a text that is stored, not followed."""
MAX_BATCH_CHARS = 15_000
"""Characters of messages screened in one call."""
MESSAGE_SEPARATOR = "\n\n-- the next message of a conversation --\n\n"
NO_RESULT = "Interrupted: the conversation ends before the result."
MAX_TOOL_NAME_CHARS = 64


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """A message of ``user`` or ``assistant``, or the result of a ``tool``.

    ``at`` is Unix time in seconds. ``calls`` are ``(id, name, arguments)``. ``call_id`` and
    ``name`` identify the call that a result belongs to.
    """

    at: float
    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    call_id: str = ""
    name: str = ""
    ok: bool = True


@dataclass(slots=True)
class ScreenedTranscript:
    """The screened entries, and how many texts were refused, by reason."""

    entries: list[TranscriptEntry] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """A sentence about refused texts; empty if there are none."""
        count = sum(self.refused.values())
        if not count:
            return ""
        first = next(iter(self.refused))
        texts = "1 text" if count == 1 else f"{count:,} texts"
        return f"{texts} of {len(self.entries):,} left out: {first}"


async def screen_transcript(
    host: Host, entries: Sequence[TranscriptEntry], source: str
) -> ScreenedTranscript:
    """Pass every text and all arguments through ``pre_learn``; refused texts are replaced."""
    texts: list[str] = []
    for one in entries:
        texts.append(one.text)
        texts += [_json(arguments) for _, _, arguments in one.calls]
    found = ScreenedTranscript()
    passed = iter(await _screen_texts(host, texts, source, found))
    for one in entries:
        text = next(passed)
        calls = tuple((id_, name, _arguments(next(passed))) for id_, name, _ in one.calls)
        found.entries.append(replace(one, text=text, calls=calls))
    return found


async def _screen_texts(
    host: Host, texts: Sequence[str], source: str, found: ScreenedTranscript
) -> list[str]:
    out = [""] * len(texts)
    batch: list[int] = []
    size = 0
    for number, text in enumerate([*texts, ""]):
        if batch and (number == len(texts) or size + len(text) > MAX_BATCH_CHARS):
            await _screen_batch(host, texts, batch, source, found, out)
            batch = []
            size = 0
        if number < len(texts) and text.strip():
            batch.append(number)
            size += len(text) + len(MESSAGE_SEPARATOR)
    return out


async def _screen_batch(
    host: Host,
    texts: Sequence[str],
    batch: Sequence[int],
    source: str,
    found: ScreenedTranscript,
    out: list[str],
) -> None:
    """Screen several texts in one call, or each on its own if they cannot be split again."""
    if len(batch) > 1:
        together = MESSAGE_SEPARATOR.join(texts[number] for number in batch)
        try:
            parts = (await host.learn(together, source, KIND, origins=())).split(MESSAGE_SEPARATOR)
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
            out[number] = f"[Text not imported: {reason}]"


def to_messages(
    entries: Iterable[TranscriptEntry], person: Origin, source: str
) -> list[tuple[float, Message]]:
    """Return the conversation as messages, each with its time.

    Every call gets an id and a result. Tool results are from outside, and so may be what the agent
    says after them.
    """
    made: list[tuple[float, Message]] = []
    waiting: dict[str, tuple[str, str]] = {}
    results: list[ToolResultBlock] = []
    outside: tuple[Origin, ...] = ()
    calls = 0
    last = 0.0

    def settle(at: float) -> None:
        """Add the results of open calls."""
        for id_, _ in waiting.values():
            results.append(ToolResultBlock(id_, NO_RESULT, ok=False))
        waiting.clear()
        if results:
            made.append((at, Message("user", tuple(results))))
            results.clear()

    for one in entries:
        at = last = max(one.at, last)
        if one.role == "tool":
            if one.call_id not in waiting:  # its call is missing: add one
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
    return kept[:MAX_TOOL_NAME_CHARS] or "tool"


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
