"""Reads a home of Hermes Agent (seen with 0.19.0, schema 22 of its ``state.db``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar

from hookline_hookspecs.importers import Outcome

from ..database import Database, opened
from ..reading import Unreadable, a_dict, a_list, a_text
from ..transcript import Said
from .base import Entry, Source, placed

PARTS = "\x00json:"
"""How a message begins whose content is a list of parts, in JSON."""
SCHEMA = 22
_SESSION = (
    "id", "source", "user_id", "chat_id", "thread_id", "title", "display_name", "started_at",
    "ended_at", "message_count", "parent_session_id",
)  # fmt: skip
_MESSAGE = ("role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "active")


class Hermes(Source):
    """``memories``, ``state.db``, ``cron``, ``pairing``, ``config.yaml``, ``skills`` and more."""

    name = "hermes"
    signs = ("state.db", "config.yaml", "memories", "SOUL.md", "cron")
    oauth = ("auth.json", "auth", "oauth", "mcp-tokens")
    left: ClassVar[Mapping[str, str]] = {
        "hooks": "hooks are programs; look for a plugin, or write one",
        "plugins": "plugins are programs of another kind",
        "channel_directory.json": "deliveries under way stay with the program that owes them",
    }

    def sections(self) -> Iterator[tuple[str, str, Iterator[Entry]]]:
        """The parts of the home."""
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

    def _notes(self) -> Iterator[Entry]:
        path = "memories/MEMORY.md"
        text = self.folder.text(path)
        yield from self.notes(path, re.split(r"\n§\n", text or ""))

    def _user(self) -> Iterator[Entry]:
        path = "memories/USER.md"
        parts = [one.strip() for one in re.split(r"\n§\n", self.folder.text(path) or "")]
        yield from self.portrait(path, self.options.chat, "\n".join(filter(None, parts)))

    def _sessions(self) -> Iterator[Entry]:
        with opened(self.folder, "state.db") as database:
            if database is None:
                return
            if not database.columns("sessions") or not database.columns("messages"):
                raise Unreadable("state.db holds no conversations of Hermes Agent")
            for row in list(database.select("sessions", _SESSION, "ORDER BY started_at")):
                yield self._session(row)
            for row in database.select("schema_version", ("version",)):
                if isinstance(row["version"], int) and row["version"] > SCHEMA:
                    told = f"schema {row['version']} is newer than {SCHEMA}, which was tried"
                    yield self.told("session", "state.db", Outcome("skipped", "", told))

    def _session(self, row: Mapping[str, Any]) -> Entry:
        id_ = a_text(row["id"])
        # Only the platform's own ids: a thread has the chat that Hookline gives it.
        channel, chat = placed(row["source"], row["chat_id"] or row["user_id"] or "")
        data = {
            "session": row["id"],
            "channel": channel,
            "chat": chat,
            "title": a_text(row["title"] or row["display_name"]),
            "began": a_number(row["started_at"]),
            "ended": a_number(row["ended_at"]),
        }
        item = self.item("session", id_, f"state.db: {id_}", data)
        return Entry(item, version=a_text(row["message_count"]))

    def conversation(self, data: Mapping[str, Any]) -> list[Said]:
        """The messages of a session, without those that were taken back."""
        with opened(self.folder, "state.db") as database:
            if database is None:
                raise Unreadable("state.db is gone")
            rows = self._messages(database, data["session"])
            return [said for row in rows if (said := _said(row)) is not None]

    @staticmethod
    def _messages(database: Database, session: Any) -> Iterator[dict[str, Any]]:
        rest = "WHERE session_id = ? ORDER BY id"
        for row in database.select("messages", _MESSAGE, rest, (session,)):
            if row["active"] != 0:
                yield row

    def _jobs(self) -> Iterator[Entry]:
        path = "cron/jobs.json"
        found = self.folder.json(path)
        jobs = a_list(found.get("jobs")) if isinstance(found, dict) else a_list(found)
        for job in map(a_dict, jobs):
            id_ = a_text(job.get("id"))
            when, zone, lost = when_of(a_dict(job.get("schedule")))
            origin = a_dict(job.get("origin"))
            chat = a_text(origin.get("chat_id"))
            platform = a_text(origin.get("platform"))
            data = {
                "when": when,
                "zone": zone,
                "prompt": a_text(job.get("prompt")),
                "chat": f"{platform}:{chat}" if platform and chat else "",
                "user": a_text(origin.get("user_id")),
            }
            item = self.item("job", id_, f"{path}: {a_text(job.get('name')) or id_}", data)
            if job.get("script") or job.get("no_agent"):
                lost = "it runs a script of its own; write it as a prompt, or as a plugin"
            yield Entry(item, Outcome("blocked", "", lost) if lost else None)

    def _people(self, folder: str) -> Iterator[Entry]:
        for name in self.folder.names(folder):
            if name.endswith("-approved.json"):
                path = f"{folder}/{name}"
                channel = name.removesuffix("-approved.json")
                yield from self.people(path, channel, list(a_dict(self.folder.json(path))))

    def _config(self) -> Iterator[Entry]:
        config = a_dict(self.folder.yaml("config.yaml"))
        yield from self.servers("config.yaml", config.get("mcp_servers"))
        if config.get("command_allowlist"):
            told = "allow-lists of commands are not moved: what may run is asked here anew"
            yield self.told("other", "command_allowlist", Outcome("skipped", "", told))
        if config.get("hooks"):
            told = "hooks are programs; look for a plugin, or write one"
            yield self.told("other", "config.yaml: hooks", Outcome("skipped", "", told))

    def _profiles(self) -> Iterator[Entry]:
        for name in self.folder.names("profiles"):
            path = f"profiles/{name}"
            real = self.folder.real(path)
            if real is not None and real.is_dir() and not name.startswith("."):
                data = {"name": name, "folder": str(real), "program": self.name}
                yield Entry(self.item("profile", name, path, data))


def _said(row: Mapping[str, Any]) -> Said | None:
    role, at = row["role"], a_number(row["timestamp"])
    text = content_text(row["content"])
    if role == "tool":
        name = a_text(row["tool_name"])
        return Said(at, "tool", text, call_id=a_text(row["tool_call_id"]), name=name)
    if role == "user":
        return Said(at, "user", text)
    if role == "assistant":
        return Said(at, "assistant", text, calls_of(row["tool_calls"]))
    return None  # a system prompt is the program's own


def content_text(content: Any) -> str:
    """The text of a message's content: a text, a list of parts, or either in JSON."""
    if isinstance(content, str) and content.startswith(PARTS):
        try:
            content = json.loads(content.removeprefix(PARTS))
        except (ValueError, RecursionError):
            return a_text(content.removeprefix(PARTS))
    if isinstance(content, list):
        return "\n".join(filter(None, map(_part, content)))
    if isinstance(content, dict):
        return _part(content)
    return a_text(content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return a_text(part)
    part = a_dict(part)
    if part.get("type") in (None, "text", "input_text", "output_text"):
        return a_text(part.get("text") or part.get("content"))
    if "image" in str(part.get("type")):
        return "[an image, which was not moved]"
    return ""


def calls_of(value: Any) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
    """Tool calls as OpenAI's wire has them, as a list or in JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ()
    found = []
    for call in map(a_dict, a_list(value)):
        function = a_dict(call.get("function"))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                arguments = {"text": a_text(arguments)}
        given = {a_text(key): value for key, value in a_dict(arguments).items()}
        found.append((a_text(call.get("id")), a_text(function.get("name")), given))
    return tuple(found)


def when_of(schedule: Mapping[str, Any]) -> tuple[str, str, str]:
    """A schedule as Hookline reads it, its time zone, and why it cannot be moved."""
    kind = schedule.get("kind")
    zone = a_text(schedule.get("tz") or schedule.get("timezone"))
    if kind == "cron":
        return a_text(schedule.get("expr") or schedule.get("expression")), zone, ""
    for name, seconds in (("minutes", 60.0), ("every_ms", 0.001), ("everyMs", 0.001)):
        if kind in ("interval", "every") and isinstance(schedule.get(name), int | float):
            return every(schedule[name] * seconds), zone, ""
    for name in ("run_at", "at"):
        if kind in ("once", "at") and isinstance(schedule.get(name), str):
            return a_text(schedule[name])[:32], zone, ""
    for name in ("at_ms", "atMs"):
        if kind in ("once", "at") and isinstance(schedule.get(name), int | float):
            return moment(schedule[name] / 1000), zone, ""
    return "", zone, f"its schedule ({a_text(kind) or 'none'}) is not known"


def every(seconds: float) -> str:
    """An interval in words."""
    minutes = max(1, round(seconds / 60)) if seconds < 1e12 else 10**9
    return f"every {minutes} minutes"


def moment(seconds: float) -> str:
    """A time in words; empty if it is none."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="minutes")
    except (OverflowError, OSError, ValueError):
        return ""


def a_number(value: Any) -> float:
    """A time as Unix seconds; 0 if it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e11:
        return float(value)
    return 0.0
