"""Reads a home of nanobot (tested with 0.3.5)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from hookline_hookspecs.importers import Outcome

from ..source_folder import Unreadable, as_dict, as_list, as_text
from ..transcript import TranscriptEntry
from .base import MigrationSource, SourceEntry, map_chat, paragraphs
from .hermes import as_timestamp, content_text, parse_schedule, parse_tool_calls


class Nanobot(MigrationSource):
    """Reads ``config.json``, ``workspace/``, ``sessions/``, ``cron/`` and ``pairing.json``."""

    name = "nanobot"
    markers = ("config.json", "workspace", "sessions")
    login_files = ("oauth", "auth.json")
    not_imported: ClassVar[Mapping[str, str]] = {
        "workspace/memory/history.jsonl": "summaries are not imported; the conversations are",
        "workspace/HEARTBEAT.md": "add its tasks as jobs: hookline cron add",
    }

    def sections(self) -> Iterator[tuple[str, str, Iterator[SourceEntry]]]:
        """Yield the parts of the home."""
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

    def _notes(self) -> Iterator[SourceEntry]:
        path = "workspace/memory/MEMORY.md"
        text = self.folder.text(path) or ""
        # The template's own texts are in parentheses.
        parts = [p for p in paragraphs(text) if not (p.startswith("(") and p.endswith(")"))]
        yield from self.notes(path, [p for p in parts if not p.startswith(_TEMPLATE_STARTS)])

    def _user(self) -> Iterator[SourceEntry]:
        path = "workspace/USER.md"
        yield from self.user_profile(path, self.options.chat, self.folder.text(path))

    def _sessions(self) -> Iterator[SourceEntry]:
        for folder in ("sessions", "workspace/sessions"):
            for path in self.folder.files(folder, ".jsonl"):
                meta = _read_metadata(self.folder.lines(path))
                key = as_text(meta.get("key")) or Path(path).stem
                channel, chat = map_chat(*key.partition(":")[::2])
                data = {
                    "session": key,
                    "path": path,
                    "channel": channel,
                    "chat": chat,
                    "title": as_text(as_dict(meta.get("metadata")).get("title")),
                    "began": parse_local_time(meta.get("created_at")),
                    "ended": parse_local_time(meta.get("updated_at")),
                }
                real = self.folder.real(path)
                size = str(real.stat().st_size) if real is not None else ""
                yield SourceEntry(self.item("session", path, path, data), version=size)

    def conversation(self, data: Mapping[str, Any]) -> list[TranscriptEntry]:
        """Return the messages of a session."""
        found = []
        for line in self.folder.lines(str(data["path"])):
            try:
                row = as_dict(json.loads(line))
            except (ValueError, RecursionError):
                continue  # a cut last line
            if (entry := _parse_message(row)) is not None:
                found.append(entry)
        return found

    def _jobs(self, folder: str) -> Iterator[SourceEntry]:
        path = f"{folder}/jobs.json"
        found = {as_text(job.get("id")): job for job in self._read_jobs(path)}
        for row in self._actions(f"{folder}/action.jsonl"):
            params = as_dict(row.get("params"))
            id_ = as_text(params.get("id") or params.get("job_id"))
            if row.get("action") in ("remove", "delete", "del"):
                found.pop(id_, None)
            elif params:
                found[id_] = {**found.get(id_, {}), **params}
        for id_, job in found.items():
            payload = as_dict(job.get("payload"))
            when, zone, lost = parse_schedule(as_dict(job.get("schedule")))
            channel = as_text(payload.get("channel") or payload.get("origin_channel"))
            chat = as_text(payload.get("to") or payload.get("origin_chat_id"))
            channel, chat = map_chat(channel, chat)
            data = {
                "when": when,
                "zone": zone,
                "prompt": as_text(payload.get("message")),
                "chat": f"{channel}:{chat}",
                "user": "",
            }
            item = self.item("job", id_, f"{path}: {as_text(job.get('name')) or id_}", data)
            if payload.get("kind") == "system_event":
                lost = "it belongs to the program"
            yield SourceEntry(item, Outcome("blocked", "", lost) if lost else None)

    def _read_jobs(self, path: str) -> list[dict[str, Any]]:
        return [as_dict(job) for job in as_list(as_dict(self.folder.json(path)).get("jobs"))]

    def _actions(self, path: str) -> Iterator[dict[str, Any]]:
        for line in self.folder.lines(path):
            try:
                yield as_dict(json.loads(line))
            except (ValueError, RecursionError):
                continue

    def _pairing(self) -> Iterator[SourceEntry]:
        approved = as_dict(as_dict(self.folder.json("pairing.json")).get("approved"))
        for channel, ids in approved.items():
            yield from self.people("pairing.json", channel, ids)

    def _config(self) -> Iterator[SourceEntry]:
        config = self.folder.json("config.json")
        if config is not None and not isinstance(config, dict):
            raise Unreadable("config.json is not a mapping")
        tools = as_dict(as_dict(config).get("tools"))
        yield from self.servers("config.json", tools.get("mcpServers") or tools.get("mcp_servers"))
        for channel, given in as_dict(as_dict(config).get("channels")).items():
            ids = as_dict(given).get("allowFrom") or as_dict(given).get("allow_from")
            allowed = [one for one in as_list(ids) if one != "*"]
            yield from self.people(f"config.json: {as_text(channel)}", channel, allowed)


_TEMPLATE_STARTS = ("This file stores important", "*This file is automatically updated")


def _read_metadata(lines: Iterator[str]) -> dict[str, Any]:
    try:
        first = as_dict(json.loads(next(lines, "")))
    except (ValueError, RecursionError):
        return {}
    return first if first.get("_type") == "metadata" else {}


def _parse_message(row: Mapping[str, Any]) -> TranscriptEntry | None:
    at = parse_local_time(row.get("timestamp"))
    role = row.get("role")
    text = content_text(row.get("content"))
    if role == "user":
        return TranscriptEntry(at, "user", text)
    if role == "assistant":
        return TranscriptEntry(at, "assistant", text, parse_tool_calls(row.get("tool_calls")))
    if role == "tool":
        call = as_text(row.get("tool_call_id"))
        name = as_text(row.get("name"))
        return TranscriptEntry(at, "tool", text, call_id=call, name=name)
    return None


def parse_local_time(value: Any) -> float:
    """Parse a local ISO 8601 time; return Unix seconds, 0 if it is invalid."""
    try:
        return as_timestamp(datetime.fromisoformat(str(value)).timestamp())
    except (ValueError, OverflowError, OSError):
        return 0.0
