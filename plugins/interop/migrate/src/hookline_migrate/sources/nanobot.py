"""Reads a home of nanobot (seen with 0.3.5)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from hookline_hookspecs.importers import Outcome

from ..reading import Unreadable, a_dict, a_list, a_text
from ..transcript import Said
from .base import Entry, Source, paragraphs, placed
from .hermes import a_number, calls_of, content_text, when_of


class Nanobot(Source):
    """``config.json``, ``workspace/``, ``sessions/``, ``cron/`` and ``pairing.json``."""

    name = "nanobot"
    signs = ("config.json", "workspace", "sessions")
    oauth = ("oauth", "auth.json")
    left: ClassVar[Mapping[str, str]] = {
        "workspace/memory/history.jsonl": "summaries are not moved; the conversations are",
        "workspace/HEARTBEAT.md": "write what it asks for as a job: hookline cron add",
    }

    def sections(self) -> Iterator[tuple[str, str, Iterator[Entry]]]:
        """The parts of the home."""
        yield "note", "workspace/memory/MEMORY.md", self._notes()
        yield "user", "workspace/USER.md", self._user()
        yield "document", "workspace/SOUL.md", self.document("workspace/SOUL.md", "SOUL.md")
        for name in ("AGENTS.md", "TOOLS.md", "IDENTITY.md"):
            path = f"workspace/{name}"
            yield "document", path, self.document(path, f"context/{name}")
        yield "skill", "workspace/skills", self.skills("workspace/skills")
        yield "session", "sessions", self._sessions()
        yield "job", "workspace/cron", self._jobs("workspace/cron")
        yield "job", "cron", self._jobs("cron")
        yield "person", "pairing.json", self._pairing()
        yield "server", "config.json", self._config()
        yield "key", ".env", self.keys()

    def _notes(self) -> Iterator[Entry]:
        path = "workspace/memory/MEMORY.md"
        text = self.folder.text(path) or ""
        # The template's own words stand in brackets.
        parts = [p for p in paragraphs(text) if not (p.startswith("(") and p.endswith(")"))]
        yield from self.notes(path, [p for p in parts if not p.startswith(_TEMPLATE)])

    def _user(self) -> Iterator[Entry]:
        path = "workspace/USER.md"
        yield from self.portrait(path, self.options.chat, self.folder.text(path))

    def _sessions(self) -> Iterator[Entry]:
        for folder in ("sessions", "workspace/sessions"):
            for path in self.folder.files(folder, ".jsonl"):
                meta = _meta(self.folder.lines(path))
                key = a_text(meta.get("key")) or Path(path).stem
                channel, chat = placed(*key.partition(":")[::2])
                data = {
                    "session": key,
                    "path": path,
                    "channel": channel,
                    "chat": chat,
                    "title": a_text(a_dict(meta.get("metadata")).get("title")),
                    "began": local(meta.get("created_at")),
                    "ended": local(meta.get("updated_at")),
                }
                real = self.folder.real(path)
                size = str(real.stat().st_size) if real is not None else ""
                yield Entry(self.item("session", path, path, data), version=size)

    def conversation(self, data: Mapping[str, Any]) -> list[Said]:
        """The lines of a session that are messages."""
        found = []
        for line in self.folder.lines(str(data["path"])):
            try:
                row = a_dict(json.loads(line))
            except (ValueError, RecursionError):
                continue  # half a line at the end
            if (said := _said(row)) is not None:
                found.append(said)
        return found

    def _jobs(self, folder: str) -> Iterator[Entry]:
        path = f"{folder}/jobs.json"
        found = {a_text(job.get("id")): job for job in self._stored(path)}
        for row in self._actions(f"{folder}/action.jsonl"):
            given = a_dict(row.get("params"))
            id_ = a_text(given.get("id") or given.get("job_id"))
            if row.get("action") in ("remove", "delete", "del"):
                found.pop(id_, None)
            elif given:
                found[id_] = {**found.get(id_, {}), **given}
        for id_, job in found.items():
            payload = a_dict(job.get("payload"))
            when, zone, lost = when_of(a_dict(job.get("schedule")))
            channel = a_text(payload.get("channel") or payload.get("origin_channel"))
            chat = a_text(payload.get("to") or payload.get("origin_chat_id"))
            channel, chat = placed(channel, chat)
            data = {
                "when": when,
                "zone": zone,
                "prompt": a_text(payload.get("message")),
                "chat": f"{channel}:{chat}",
                "user": "",
            }
            item = self.item("job", id_, f"{path}: {a_text(job.get('name')) or id_}", data)
            if payload.get("kind") == "system_event":
                lost = "it is the program's own"
            yield Entry(item, Outcome("blocked", "", lost) if lost else None)

    def _stored(self, path: str) -> list[dict[str, Any]]:
        return [a_dict(job) for job in a_list(a_dict(self.folder.json(path)).get("jobs"))]

    def _actions(self, path: str) -> Iterator[dict[str, Any]]:
        for line in self.folder.lines(path):
            try:
                yield a_dict(json.loads(line))
            except (ValueError, RecursionError):
                continue

    def _pairing(self) -> Iterator[Entry]:
        approved = a_dict(a_dict(self.folder.json("pairing.json")).get("approved"))
        for channel, ids in approved.items():
            yield from self.people("pairing.json", channel, ids)

    def _config(self) -> Iterator[Entry]:
        config = self.folder.json("config.json")
        if config is not None and not isinstance(config, dict):
            raise Unreadable("config.json holds no settings")
        tools = a_dict(a_dict(config).get("tools"))
        yield from self.servers("config.json", tools.get("mcpServers") or tools.get("mcp_servers"))
        for channel, given in a_dict(a_dict(config).get("channels")).items():
            ids = a_dict(given).get("allowFrom") or a_dict(given).get("allow_from")
            allowed = [one for one in a_list(ids) if one != "*"]
            yield from self.people(f"config.json: {a_text(channel)}", channel, allowed)


_TEMPLATE = ("This file stores important", "*This file is automatically updated")


def _meta(lines: Iterator[str]) -> dict[str, Any]:
    try:
        first = a_dict(json.loads(next(lines, "")))
    except (ValueError, RecursionError):
        return {}
    return first if first.get("_type") == "metadata" else {}


def _said(row: Mapping[str, Any]) -> Said | None:
    at, role = local(row.get("timestamp")), row.get("role")
    text = content_text(row.get("content"))
    if role == "user":
        return Said(at, "user", text)
    if role == "assistant":
        return Said(at, "assistant", text, calls_of(row.get("tool_calls")))
    if role == "tool":
        call, name = a_text(row.get("tool_call_id")), a_text(row.get("name"))
        return Said(at, "tool", text, call_id=call, name=name)
    return None


def local(value: Any) -> float:
    """A time in ISO 8601 without a zone, by this machine's clock, as Unix seconds; 0 if none."""
    try:
        return a_number(datetime.fromisoformat(str(value)).timestamp())
    except (ValueError, OverflowError, OSError):
        return 0.0
