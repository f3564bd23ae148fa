"""Reads a home of Hermes Agent (tested with 0.19.0, schema 22 of its ``state.db``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar

from hookline_hookspecs.importers import Outcome

from ..database import SourceDatabase, open_database
from ..source_folder import Unreadable, as_dict, as_list, as_text
from ..transcript import TranscriptEntry
from .base import MigrationSource, SourceEntry, map_chat

JSON_PARTS_PREFIX = "\x00json:"
"""Prefix of a message whose content is a JSON list of parts."""
TESTED_SCHEMA = 22
_SESSION_COLUMNS = (
    "id", "source", "user_id", "chat_id", "thread_id", "title", "display_name", "started_at",
    "ended_at", "message_count", "parent_session_id",
)  # fmt: skip
_MESSAGE_COLUMNS = (
    "role",
    "content",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "timestamp",
    "active",
)


class Hermes(MigrationSource):
    """Reads ``memories``, ``state.db``, ``cron``, ``pairing``, ``config.yaml`` and ``skills``."""

    name = "hermes"
    markers = ("state.db", "config.yaml", "memories", "SOUL.md", "cron")
    login_files = ("auth.json", "auth", "oauth", "mcp-tokens")
    not_imported: ClassVar[Mapping[str, str]] = {
        "hooks": "hooks are programs; find or write a plugin instead",
        "plugins": "plugins cannot be imported",
        "channel_directory.json": "pending deliveries stay with the program",
    }

    def sections(self) -> Iterator[tuple[str, str, Iterator[SourceEntry]]]:
        """Yield the parts of the home."""
        yield "note", "memories/MEMORY.md", self._notes()
        yield "user", "memories/USER.md", self._user()
        yield "document", "SOUL.md", self.document("SOUL.md", "SOUL.md")
        yield "skill", "skills", self.skills("skills")
        yield "session", "state.db", self._sessions()
        yield "job", "cron/jobs.json", self._jobs()
        for folder in ("pairing", "platforms/pairing"):
            yield "person", folder, self._people(folder)
        yield "server", "config.yaml", self._config()
        yield "profile", "profiles", self._profiles()
        yield "key", ".env", self.keys()

    def _notes(self) -> Iterator[SourceEntry]:
        path = "memories/MEMORY.md"
        text = self.folder.text(path)
        yield from self.notes(path, re.split(r"\n§\n", text or ""))

    def _user(self) -> Iterator[SourceEntry]:
        path = "memories/USER.md"
        parts = [one.strip() for one in re.split(r"\n§\n", self.folder.text(path) or "")]
        yield from self.user_profile(path, self.options.chat, "\n".join(filter(None, parts)))

    def _sessions(self) -> Iterator[SourceEntry]:
        with open_database(self.folder, "state.db") as database:
            if database is None:
                return
            if not database.columns("sessions") or not database.columns("messages"):
                raise Unreadable("state.db is not a database of Hermes Agent")
            for row in list(database.select("sessions", _SESSION_COLUMNS, "ORDER BY started_at")):
                yield self._session(row)
            for row in database.select("schema_version", ("version",)):
                if isinstance(row["version"], int) and row["version"] > TESTED_SCHEMA:
                    reason = (
                        f"schema {row['version']} is newer than {TESTED_SCHEMA}, the tested one"
                    )
                    yield self.report_only("session", "state.db", Outcome("skipped", "", reason))

    def _session(self, row: Mapping[str, Any]) -> SourceEntry:
        id_ = as_text(row["id"])
        # Only the platform's own ids: a thread has the chat that Hookline gives it.
        channel, chat = map_chat(row["source"], row["chat_id"] or row["user_id"] or "")
        data = {
            "session": row["id"],
            "channel": channel,
            "chat": chat,
            "title": as_text(row["title"] or row["display_name"]),
            "began": as_timestamp(row["started_at"]),
            "ended": as_timestamp(row["ended_at"]),
        }
        item = self.item("session", id_, f"state.db: {id_}", data)
        return SourceEntry(item, version=as_text(row["message_count"]))

    def conversation(self, data: Mapping[str, Any]) -> list[TranscriptEntry]:
        """Return the messages of a session, without retracted ones."""
        with open_database(self.folder, "state.db") as database:
            if database is None:
                raise Unreadable("state.db is gone")
            rows = self._messages(database, data["session"])
            return [entry for row in rows if (entry := _parse_message(row)) is not None]

    @staticmethod
    def _messages(database: SourceDatabase, session: Any) -> Iterator[dict[str, Any]]:
        rest = "WHERE session_id = ? ORDER BY id"
        for row in database.select("messages", _MESSAGE_COLUMNS, rest, (session,)):
            if row["active"] != 0:
                yield row

    def _jobs(self) -> Iterator[SourceEntry]:
        path = "cron/jobs.json"
        found = self.folder.json(path)
        jobs = as_list(found.get("jobs")) if isinstance(found, dict) else as_list(found)
        for job in map(as_dict, jobs):
            id_ = as_text(job.get("id"))
            when, zone, lost = parse_schedule(as_dict(job.get("schedule")))
            origin = as_dict(job.get("origin"))
            chat = as_text(origin.get("chat_id"))
            platform = as_text(origin.get("platform"))
            data = {
                "when": when,
                "zone": zone,
                "prompt": as_text(job.get("prompt")),
                "chat": f"{platform}:{chat}" if platform and chat else "",
                "user": as_text(origin.get("user_id")),
            }
            item = self.item("job", id_, f"{path}: {as_text(job.get('name')) or id_}", data)
            if job.get("script") or job.get("no_agent"):
                lost = "it runs a script; rewrite it as a prompt or a plugin"
            yield SourceEntry(item, Outcome("blocked", "", lost) if lost else None)

    def _people(self, folder: str) -> Iterator[SourceEntry]:
        for name in self.folder.names(folder):
            if name.endswith("-approved.json"):
                path = f"{folder}/{name}"
                channel = name.removesuffix("-approved.json")
                yield from self.people(path, channel, list(as_dict(self.folder.json(path))))

    def _config(self) -> Iterator[SourceEntry]:
        config = as_dict(self.folder.yaml("config.yaml"))
        yield from self.servers("config.yaml", config.get("mcp_servers"))
        if config.get("command_allowlist"):
            reason = "allow-lists of commands are not imported: approve commands again"
            yield self.report_only("other", "command_allowlist", Outcome("skipped", "", reason))
        if config.get("hooks"):
            reason = "hooks are programs; find or write a plugin instead"
            yield self.report_only("other", "config.yaml: hooks", Outcome("skipped", "", reason))

    def _profiles(self) -> Iterator[SourceEntry]:
        for name in self.folder.names("profiles"):
            path = f"profiles/{name}"
            real = self.folder.real(path)
            if real is not None and real.is_dir() and not name.startswith("."):
                data = {"name": name, "folder": str(real), "program": self.name}
                yield SourceEntry(self.item("profile", name, path, data))


def _parse_message(row: Mapping[str, Any]) -> TranscriptEntry | None:
    role = row["role"]
    at = as_timestamp(row["timestamp"])
    text = content_text(row["content"])
    if role == "tool":
        name = as_text(row["tool_name"])
        return TranscriptEntry(at, "tool", text, call_id=as_text(row["tool_call_id"]), name=name)
    if role == "user":
        return TranscriptEntry(at, "user", text)
    if role == "assistant":
        return TranscriptEntry(at, "assistant", text, parse_tool_calls(row["tool_calls"]))
    return None  # the program's system prompt


def content_text(content: Any) -> str:
    """Return the text of a message's content: a text, a list of parts, or that as JSON."""
    if isinstance(content, str) and content.startswith(JSON_PARTS_PREFIX):
        try:
            content = json.loads(content.removeprefix(JSON_PARTS_PREFIX))
        except (ValueError, RecursionError):
            return as_text(content.removeprefix(JSON_PARTS_PREFIX))
    if isinstance(content, list):
        return "\n".join(filter(None, map(_part, content)))
    if isinstance(content, dict):
        return _part(content)
    return as_text(content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return as_text(part)
    part = as_dict(part)
    if part.get("type") in (None, "text", "input_text", "output_text"):
        return as_text(part.get("text") or part.get("content"))
    if "image" in str(part.get("type")):
        return "[image, not imported]"
    return ""


def parse_tool_calls(value: Any) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
    """Parse tool calls in OpenAI's format, as a list or as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ()
    found = []
    for call in map(as_dict, as_list(value)):
        function = as_dict(call.get("function"))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                arguments = {"text": as_text(arguments)}
        by_name = {as_text(key): value for key, value in as_dict(arguments).items()}
        found.append((as_text(call.get("id")), as_text(function.get("name")), by_name))
    return tuple(found)


def parse_schedule(schedule: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a schedule in Hookline's format, its time zone, and why it cannot be imported."""
    kind = schedule.get("kind")
    zone = as_text(schedule.get("tz") or schedule.get("timezone"))
    if kind == "cron":
        return as_text(schedule.get("expr") or schedule.get("expression")), zone, ""
    for name, seconds in (("minutes", 60.0), ("every_ms", 0.001), ("everyMs", 0.001)):
        if kind in ("interval", "every") and isinstance(schedule.get(name), int | float):
            return interval_text(schedule[name] * seconds), zone, ""
    for name in ("run_at", "at"):
        if kind in ("once", "at") and isinstance(schedule.get(name), str):
            return as_text(schedule[name])[:32], zone, ""
    for name in ("at_ms", "atMs"):
        if kind in ("once", "at") and isinstance(schedule.get(name), int | float):
            return time_text(schedule[name] / 1000), zone, ""
    return "", zone, f"unknown kind of schedule ({as_text(kind) or 'none'})"


def interval_text(seconds: float) -> str:
    """Return an interval as text."""
    minutes = max(1, round(seconds / 60)) if seconds < 1e12 else 10**9
    return f"every {minutes} minutes"


def time_text(seconds: float) -> str:
    """Return a time as text; empty if it is invalid."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="minutes")
    except (OverflowError, OSError, ValueError):
        return ""


def as_timestamp(value: Any) -> float:
    """Return a time as Unix seconds; 0 if it is invalid."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e11:
        return float(value)
    return 0.0
