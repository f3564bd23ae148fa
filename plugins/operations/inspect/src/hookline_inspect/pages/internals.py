"""``/prompt``, ``/hooks`` and ``/trace``: the stable prompt, the hooks, and traces of turns."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from hookline_hookspecs import HOOKS, Host, Inspection, origins_from_json
from hookline_hookspecs.stored_origins import named, strangers
from hookline_hookspecs.web import (
    Action,
    Actions,
    Badge,
    Chart,
    Code,
    Group,
    Link,
    Markdown,
    Paging,
    Part,
    Problem,
    RequestLike,
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
    query_params,
    t,
)

from .. import traces
from ..commands.prompt import prompt_costs
from ..sessions import local_time, session_name
from .transcript import fenced

MAX_CRUMB_CHARS = 48
"""Characters of a session's title in the breadcrumbs."""
CALL_COLUMNS = ("model", "purpose", "input", "cache_read", "cache_write", "output")
TONES: Mapping[str, Tone] = {
    "deny": "bad",
    "failed": "bad",
    "error": "bad",
    "stopped": "warning",
    "ask": "warning",
    "answer": "good",
}
"""The colour of a step by its verdict."""


class InternalPages:
    """The pages about Hookline's internals."""

    def __init__(self, host: Host) -> None:
        self._host = host

    # The prompt

    async def prompt(self, request: RequestLike) -> View:
        """``GET /prompt[?session=ID]``: the stable prompt, tokens by tier and plugin."""
        session = query_params(request).get("session") or None
        stable = await self._host.services[Inspection].prompt(session)
        if stable is None:
            text = t("Session not found.")
            raise Problem(404, "not_found", text, t("Find it under Sessions."))
        found = prompt_costs(stable)
        sums = found["tokens"]
        parts: list[Part] = [
            Stats(
                [
                    Stat(
                        t("System prompt"),
                        format_number(sums["system"]),
                        t("tokens, characters / 4"),
                    ),
                    Stat(t("Tools"), format_number(sums["tools"]), t("tokens")),
                    Stat(
                        t("Total"),
                        format_number(sums["total"]),
                        t("tokens before the first message"),
                    ),
                ]
            ),
            tokens_by_plugin(found["by_plugin"]),
            Table(
                [t("Plugin"), t("Section"), t("Characters"), t("Tokens")],
                [
                    Row([one["plugin"], one["section"], one["chars"], one["tokens"]])
                    for one in sorted(found["by_plugin"], key=lambda one: -one["tokens"])
                ],
                title=t("By section"),
                empty=t("The prompt is empty: no plugin adds to it."),
            ),
        ]
        if session is not None:
            parts.append(await self._calls(request, session))
        parts.append(Group(t("Text"), [Markdown(fenced(found["system"]))], open=False))
        hashes = [Row([name, Code(sha)]) for name, sha in found["sha256"].items()]
        parts.append(Group(t("SHA-256"), [Table([t("Tier"), t("SHA-256")], hashes)], open=False))
        subtitle = t("What a new terminal session sends with every message.")
        if session is None:
            return View(t("Prompt"), parts, subtitle)
        crumb = await self._crumb(session)
        subtitle = t("What the session “{text}” sends.", text=crumb.text)
        return View(t("Prompt"), parts, subtitle, (_sessions(), crumb))

    async def _crumb(self, session: str) -> Link:
        """The link back to a session: its title or first words, else its start."""
        rows = await self._host.storage.fetch("page_session", id=session)
        text = (
            session_name(rows[0], MAX_CRUMB_CHARS) or local_time(rows[0]["created"])
            if rows
            else t("Session")
        )
        return Link(text, build_path("sessions", session))

    async def _calls(self, request: RequestLike, session: str) -> Part:
        """The model calls, with the tokens from the cache and what broke the prefix."""
        paging = Paging.from_request(request, build_path("prompt"), 50)
        rows = await self._host.storage.fetch(
            "page_calls", id=session, limit=paging.size + 1, start=paging.offset
        )
        return Table(
            [
                t("When"),
                t("Model"),
                t("Purpose"),
                t("Tokens in"),
                t("Cache read"),
                t("Cache write"),
                t("Tokens out"),
                t("Prefix"),
            ],
            [
                Row(
                    [
                        Timestamp(row["created"]),
                        *(row[name] for name in CALL_COLUMNS),
                        prefix_badge(row["broken"]),
                    ]
                )
                for row in rows[: paging.size]
            ],
            title=t("Model calls"),
            empty=t("No model calls yet."),
            more=paging.link(len(rows)),
        )

    # Hooks

    async def hooks(self, request: RequestLike) -> View:
        """``GET /hooks``: the plugins that implement each hook, in call order."""
        implemented = self._host.services[Inspection].hooks()
        rows = [
            Row(
                [
                    Code(spec.name),
                    spec.kind,
                    f"{spec.deadline:g} s" if spec.deadline else t("none"),
                    ", ".join(implemented[spec.name]) or t("none"),
                ]
            )
            for spec in HOOKS.values()
        ]
        columns = [t("Hook"), t("Kind"), t("Deadline"), t("Implemented by, in call order")]
        text = t("Where plugins take part in a turn. Decorated tools and commands need no hook.")
        return View(t("Hooks"), [Table(columns, rows)], text)

    # Traces

    async def trace(self, request: RequestLike) -> View:
        """``GET /trace[?session=ID][&turn=TURN]``: what happened in a turn, step by step."""
        query = query_params(request)
        session = query.get("session") or await traces.latest_session(self._host)
        kept = await traces.session_traces(self._host, session) if session else []
        if session is None or not kept:
            crumbs = (_sessions(),)
            return View(
                t("Trace"),
                [
                    Text(
                        t(
                            "No traces. To record them, set `trace: true` in config.yaml, or trace "
                            "one turn with `hookline run --trace`."
                        )
                    )
                ],
                "",
                crumbs,
            )
        ids = await self._host.storage.fetch("turn_ids", id=session)
        numbers = {row["turn_id"]: number for number, row in enumerate(ids, 1)}
        row = next((turn for turn in kept if turn["turn_id"] == query.get("turn")), kept[-1])
        tree = json.loads(row["tree"])
        choices = [_turn_link(session, turn, row, numbers) for turn in kept[-20:]]
        parts: list[Part] = [
            Stats(
                [
                    Stat(t("Duration"), _duration(tree["ms"])),
                    Stat(t("Ended with"), ending(tree["verdict"] or "done"), tree["reason"] or ""),
                    Stat(t("Steps"), format_number(_steps(tree))),
                ]
            ),
            Actions(choices),
            Timeline([timeline_step(child) for child in tree["children"]], t("Timeline")),
        ]
        title = (
            t("Turn {number}", number=numbers[row["turn_id"]])
            if row["turn_id"] in numbers
            else t("Turn")
        )
        return View(title, parts, "", (_sessions(), await self._crumb(session)))


def _duration(ms: float) -> str:
    if ms < 1000:
        return t("{ms} ms", ms=round(ms))
    return t("{n} s", n=format_number(ms / 1000, 1))


def _sessions() -> Link:
    return Link(t("Sessions"), "/sessions")


def timeline_step(tree: traces.Tree) -> TimelineStep:
    """A step of a trace on the timeline, with the steps inside it."""
    verdict = tree["verdict"] or ""
    name = tree["name"] if tree["type"] in ("hook", "model") else f"{tree['type']} {tree['name']}"
    title = f"{name.replace('tool_call', 'call')}{f': {verdict}' if verdict else ''}"
    details = [tree["reason"] or ""]
    if (changed := tree["changed"]) is not None:
        names = ", ".join(changed["fields"])
        details.append(
            t(
                "changed {names} (−{removed} +{added} characters)",
                names=names,
                removed=changed["removed"],
                added=changed["added"],
            )
        )
    if others := strangers(origins_from_json(tree.get("origins"))):
        details.append(t("read from {names}", names=named(others)))
    return TimelineStep(
        title,
        tree["plugin"],
        tree.get("at"),
        tree["ms"],
        "\n".join(filter(None, details)),
        TONES.get(verdict, "neutral"),
        [timeline_step(child) for child in tree["children"]],
    )


def _steps(tree: traces.Tree) -> int:
    return sum(1 + _steps(child) for child in tree["children"])


def _turn_link(
    session: str, one: Mapping[str, Any], shown: Mapping[str, Any], numbers: Mapping[str, int]
) -> Action:
    number = numbers.get(one["turn_id"])
    path = build_path("trace", session=session, turn=one["turn_id"])
    chosen = one["turn_id"] == shown["turn_id"]
    label = t("Turn {number}", number=number) if number else t("An undone turn")
    return Action(label, path, style="primary" if chosen else "default", get=True)


def tokens_by_plugin(costs: Sequence[Mapping[str, Any]]) -> Part:
    """A chart of each plugin's tokens, for its prompt sections and its tools."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for cost in costs:
        found[cost["plugin"]][cost["section"].startswith("tool ")] += cost["tokens"]
    ordered = sorted(found.items(), key=lambda item: -sum(item[1]))
    names = [name for name, _ in ordered]
    series = {
        t("system prompt"): [float(tokens[0]) for _, tokens in ordered],
        t("tools"): [float(tokens[1]) for _, tokens in ordered],
    }
    return Chart(t("Tokens by plugin"), names, series, "stacked", t("tokens"))


def prefix_badge(stored: str | None) -> Any:
    """A badge for whether the prefix was kept, or which plugin broke it."""
    if not stored:
        return Badge(t("kept"), "good")
    found = json.loads(stored)
    place = (
        t("message {number}", number=found["message"])
        if found["tier"] == "history"
        else found["tier"]
    )
    return Badge(t("broken by {plugin} at {place}", plugin=found["plugin"], place=place), "bad")
