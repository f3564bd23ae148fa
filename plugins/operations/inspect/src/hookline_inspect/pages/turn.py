"""The view of a turn: its hooks, prompt, tools, memory and cost.

Hooks are shown only if the turn was recorded; the rest comes from what core stores of every turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Any

from hookline_hookspecs import Host, Inspection, Usage, origins_from_json
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.stored_origins import named, strangers
from hookline_hookspecs.web import (
    N_,
    Chart,
    Diff,
    Group,
    Link,
    Markdown,
    Part,
    Row,
    Stat,
    Stats,
    Table,
    Text,
    Timeline,
    TimelineStep,
    Timestamp,
    Tone,
    View,
    build_path,
    ending,
    format_number,
    t,
    tn,
)

from .. import traces
from ..commands.prompt import prompt_costs
from ..output import tokens
from .internals import prefix_badge, timeline_step, tokens_by_plugin
from .transcript import fenced

MAX_RESULT_CHARS = 4000
"""Characters of a tool's result that are shown."""
USAGE_FIELDS = (
    *("input", "cache_read", "cache_write", "output", "reasoning", "cache_write_1h", "input_cost"),
)
_ARTIFACT = re.compile(r'fetch_artifact\(id="([^"]+)"')
_RECALLED = re.compile(
    r"<(recalled-context|skills|attached-context|notices)\b[^>]*>(.*?)</\1>", re.S
)
_TAG = re.compile(r"<(\w[\w-]*)(?: name=\"([^\"]*)\")?[^>]*>|</[^>]+>")
TITLES = {
    "recalled-context": N_("Recalled memory"),
    "skills": N_("Matched skills"),
    "attached-context": N_("Attachments"),
    "notices": N_("Notices to the model"),
}
Rows = Sequence[Mapping[str, Any]]


class TurnView:
    """Shows turns (protocol ``TurnViews``)."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def turn_view(self, session_id: str, turn_id: str) -> View | None:
        """Return a stored turn as a view, or None if there is none."""
        fetch, params = self._host.storage.fetch, {"id": session_id, "turn": turn_id}
        rows = await fetch("turn_row", **params)
        if not rows:
            return None
        turn, calls = rows[0], await fetch("turn_calls", **params)
        steps = await fetch("turn_steps", turn=turn_id)
        tree = await traces.turn_trace(self._host, session_id, turn_id)
        context = await fetch("turn_context", **params)
        sidecar = context[0]["text"] if context else ""
        sizes = (await fetch("turn_sizes", **params))[0]
        parts = [
            self._stats(turn, calls, steps),
            *_context_parts(sidecar),
            *_timeline(turn, calls, steps, tree),
        ]
        if steps:
            parts.append(
                Group(t("Tool calls"), [part for step in steps for part in _tool_parts(step)])
            )
        parts.append(Group(t("Prompt"), await self._prompt(session_id, calls, sizes, sidecar)))
        return View(t("Turn {number}", number=turn["number"]), parts)

    def _stats(self, turn: Mapping[str, Any], calls: Rows, steps: Rows) -> Part:
        usage = sum((_usage(row) for row in calls), Usage())
        prices, money, known = Prices.of(self._host), 0.0, True
        for row in calls:
            cost = prices.cost(row["model"], _usage(row))
            money, known = money + (cost or 0.0), known and cost is not None
        free = bool(calls) and all(prices.is_free(row["model"]) for row in calls)
        cost_text = t("free (local)") if free else prices.format(money if known else None)
        share = (
            t("{share}% from cache", share=round(100 * usage.cache_read / usage.input))
            if usage.input
            else ""
        )
        seconds = (turn["ended"] or turn["started"]) - turn["started"]
        tone: Tone = "bad" if turn["stop"] == "error" else "neutral"
        return Stats(
            [
                Stat(t("Duration"), _seconds(seconds) if turn["ended"] else t("running")),
                Stat(t("Cost"), cost_text if calls else t("none")),
                Stat(t("Tokens in"), format_number(usage.input), share),
                Stat(t("Tokens out"), format_number(usage.output)),
                Stat(
                    t("Tool calls"),
                    str(len(steps)),
                    tn("in {n} model call", "in {n} model calls", len(calls)),
                ),
                Stat(
                    t("Ended with"),
                    ending(turn["stop"] or turn["state"]),
                    turn["error"] or "",
                    tone,
                ),
            ]
        )

    async def _prompt(
        self, session_id: str, calls: Rows, sizes: Mapping[str, Any], sidecar: str
    ) -> list[Part]:
        """Tokens by tier and plugin, and the model calls with their use of the cache."""
        parts: list[Part] = []
        stable = await self._host.services[Inspection].prompt(session_id)
        if stable is not None:
            found = prompt_costs(stable)
            sums = found["tokens"]
            own = -(-sizes["own"] // 4)
            tiers = {
                "system": sums["system"],
                "tools": sums["tools"],
                "history": -(-sizes["history"] // 4),
                "message": own,
                "context": tokens(sidecar),
            }
            series = {"tokens": [float(count) for count in tiers.values()]}
            parts.append(Chart(t("Tokens by tier"), list(tiers), series, unit=t("tokens")))
            parts.append(tokens_by_plugin(found["by_plugin"]))
        prices = Prices.of(self._host)
        columns = [
            t("When"),
            t("Model"),
            t("For"),
            t("In"),
            t("Cache read"),
            t("Cache write"),
            t("Out"),
            t("Cost"),
            t("Prefix"),
        ]
        cells = [
            Row(
                [
                    Timestamp(row["created"]),
                    row["model"],
                    row["purpose"],
                    *(row[name] for name in ("input", "cache_read", "cache_write", "output")),
                    prices.describe(row["model"], _usage(row)),
                    prefix_badge(row["broken"]),
                ]
            )
            for row in calls
        ]
        parts.append(Table(columns, cells, t("Model calls"), t("No model calls.")))
        return parts


def _usage(row: Mapping[str, Any]) -> Usage:
    return Usage(**{name: row[name] for name in USAGE_FIELDS})


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def _timeline(turn: Mapping[str, Any], calls: Rows, steps: Rows, tree: Any) -> Iterator[Timeline]:
    """The recorded steps; without a recording, the calls that core stores."""
    if tree is None:
        moments = [
            *(_model_step(row, turn["started"]) for row in calls),
            *(_tool_step(row, turn["started"]) for row in steps),
        ]
        yield Timeline(sorted(moments, key=lambda moment: moment.start or 0.0), t("Timeline"))
        return
    yield Timeline([timeline_step(child) for child in tree["children"]], t("Timeline"))


def _model_step(row: Mapping[str, Any], start: float) -> TimelineStep:
    message = t(
        "{input} tokens in, {cached} from cache, {output} out",
        input=row["input"],
        cached=row["cache_read"],
        output=row["output"],
    )
    at = max(0.0, (row["created"] - start) * 1000)
    return TimelineStep(t("model response"), row["model"], round(at, 1), None, message)


def _tool_step(row: Mapping[str, Any], start: float) -> TimelineStep:
    at, ms = max(0.0, (row["started"] - start) * 1000), (row["seconds"] or 0.0) * 1000
    tone: Tone = "neutral" if row["ok"] or row["ok"] is None else "bad"
    return TimelineStep(
        t("call {name}", name=row["name"]), "tool", round(at, 1), round(ms, 1), "", tone
    )


def _tool_parts(row: Mapping[str, Any]) -> Iterator[Part]:
    """A tool call: its arguments, changes, result and origins."""
    try:
        arguments = json.loads(row["arguments"])
    except ValueError:
        arguments = {}
    took = f", {row['seconds']:.2f} s" if row["seconds"] else ""
    state = "done" if row["ok"] else "failed"
    if row["ok"] is None:
        state = row["state"]
    inside: list[Part] = []
    if isinstance(arguments, dict):
        diff, arguments = _diff(arguments)
        inside += [diff] if diff is not None else []
    if arguments:
        shown = json.dumps(arguments, ensure_ascii=False, indent=1)
        inside.append(Markdown(fenced(shown)))
    result = row["result"] or ""
    if result:
        more = len(result) - MAX_RESULT_CHARS
        cut = (
            f"{result[:MAX_RESULT_CHARS]}\n{t('[… {n} more characters]', n=more)}"
            if more > 0
            else result
        )
        inside.append(Markdown(fenced(cut)))
    if artifacts := _ARTIFACT.findall(result):
        inside.append(
            Table(
                [t("Artifact")],
                [
                    Row([Link(artifact_id, build_path("artifacts", artifact_id))])
                    for artifact_id in dict.fromkeys(artifacts)
                ],
            )
        )
    try:
        others = strangers(origins_from_json(json.loads(row["origins"] or "[]")))
    except (ValueError, TypeError):
        others = ()
    if others:
        inside.append(Text(t("Read from {others}.", others=named(others)), "warning"))
    yield Group(f"{row['name']}: {state}{took}", inside, open=False)


def _diff(arguments: dict[str, Any]) -> tuple[Part | None, dict[str, Any]]:
    """The diff that a call makes, if any, and its other arguments."""
    name = str(arguments.get("path") or arguments.get("name") or "")
    for before, after in (("old_string", "new_string"), ("", "content")):
        new, old = arguments.get(after), arguments.get(before, "")
        if isinstance(new, str) and isinstance(old, str) and (old or "\n" in new):
            rest = {key: one for key, one in arguments.items() if key not in (before, after)}
            return Diff(old, new, name), rest
    return None, arguments


def _context_parts(sidecar: str) -> Iterator[Part]:
    """The context that plugins added to the message."""
    for tag, inner in _RECALLED.findall(sidecar):
        text = _TAG.sub(lambda found: f"\n{found[2] or ''}\n" if found[1] else "\n", inner)
        lines = [line for line in unescape(text).splitlines() if line.strip()]
        yield Group(t(TITLES[tag]), [Markdown(fenced("\n".join(lines)))], open=False)
