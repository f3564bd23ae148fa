"""Reads a data folder of MicroClaw: ``runtime/microclaw.db`` and the files of its groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from hookline_hookspecs.importers import Outcome

from ..database import open_database
from ..source_folder import Unreadable, as_dict, as_text, parse_json
from ..transcript import TranscriptEntry
from .base import MigrationSource, SourceEntry, map_chat, paragraphs
from .openclaw import parse_time

RUNTIME_FOLDERS = ("runtime", "microclaw.data/runtime")
"""The runtime's folder: in the data folder, or in the folder where it was started."""
_CHAT_COLUMNS = ("chat_id", "chat_title", "channel", "external_chat_id")
_FACT_COLUMNS = ("id", "chat_id", "content", "category", "created_at", "is_archived")
_TASK_COLUMNS = ("id", "chat_id", "prompt", "schedule_type", "schedule_value", "timezone", "status")


class MicroClaw(MigrationSource):
    """Reads ``runtime/groups``, ``microclaw.db``, ``mcp.json``, ``skills/`` and ``SOUL.md``."""

    name = "microclaw"
    markers = ("runtime", "microclaw.data", "microclaw.config.yaml")
    login_files = ("auth", "oauth")
    not_imported: ClassVar[Mapping[str, str]] = {
        "hooks": "hooks are programs; find or write a plugin instead",
        "runtime/hooks_state.json": "hooks are programs; find or write a plugin instead",
    }

    @property
    def _runtime(self) -> str:
        return next((one for one in RUNTIME_FOLDERS if self.folder.exists(one)), RUNTIME_FOLDERS[0])

    @property
    def _data(self) -> str:
        return self._runtime.removesuffix("runtime")

    def sections(self) -> Iterator[tuple[str, str, Iterator[SourceEntry]]]:
        """Yield the parts of the data folder."""
        database = f"{self._runtime}/microclaw.db"
        yield "note", f"{self._runtime}/groups", self._groups()
        soul = f"{self._data}SOUL.md"
        yield "document", soul, self.document(soul, "SOUL.md")
        yield "fact", database, self._facts(database)
        yield "skill", "skills", self.skills(f"{self._data}skills")
        yield "session", database, self._sessions(database)
        yield "job", database, self._tasks(database)
        yield "server", "mcp.json", self._servers()
        yield "key", ".env", self.keys()

    def _chats(self, path: str) -> dict[str, tuple[str, str]]:
        """Return the platform's channel and chat by the program's chat number."""
        with open_database(self.folder, path) as database:
            if database is None:
                return {}
            return {
                as_text(row["chat_id"]): map_chat(
                    as_text(row["channel"]).partition(":")[0], as_text(row["external_chat_id"])
                )
                for row in database.select("chats", _CHAT_COLUMNS)
            }

    def _groups(self) -> Iterator[SourceEntry]:
        groups = f"{self._runtime}/groups"
        chats = self._chats(f"{self._runtime}/microclaw.db")
        yield from self._memory(f"{groups}/AGENTS.md", "")
        for channel in self.folder.names(groups):
            folder = f"{groups}/{channel}"
            if channel == "AGENTS.md" or not (self.folder.root / folder).is_dir():
                continue
            yield from self._memory(f"{folder}/AGENTS.md", "")
            for number in self.folder.names(folder):
                if not (self.folder.root / folder / number).is_dir():
                    continue
                place = chats.get(number) or map_chat(channel, number)
                chat = ":".join(place)
                yield from self._memory(f"{folder}/{number}/AGENTS.md", chat)
                user = f"{folder}/{number}/USER.md"
                yield from self.user_profile(user, chat, self.folder.text(user))

    def _memory(self, path: str, chat: str) -> Iterator[SourceEntry]:
        yield from self.notes(path, paragraphs(self.folder.text(path) or ""), chat)

    def _facts(self, path: str) -> Iterator[SourceEntry]:
        chats = self._chats(path)
        with open_database(self.folder, path) as database:
            if database is None:
                return
            for row in database.select("memories", _FACT_COLUMNS, "ORDER BY id"):
                place = chats.get(as_text(row["chat_id"])) or ("terminal", "default")
                text = as_text(row["content"])
                data = {
                    "text": text,
                    "chat": ":".join(place),
                    "category": as_text(row["category"]).lower(),
                    "created": parse_time(row["created_at"]),
                }
                key = f"{row['id']}\0{text}"
                item = self.item("fact", key, f"{path}: memory {as_text(row['id'])}", data)
                gone = Outcome("skipped", "", "it was archived there")
                yield SourceEntry(item, gone if row["is_archived"] else None)

    def _sessions(self, path: str) -> Iterator[SourceEntry]:
        chats = self._chats(path)
        with open_database(self.folder, path) as database:
            if database is None:
                raise Unreadable(f"{path} is missing")
            columns = ("chat_id", "updated_at", "label")
            for row in list(database.select("sessions", columns)):
                number = as_text(row["chat_id"])
                channel, chat = chats.get(number) or ("microclaw", number)
                ended = parse_time(row["updated_at"])
                data = {
                    "session": row["chat_id"],
                    "path": path,
                    "channel": channel,
                    "chat": chat,
                    "title": as_text(row["label"]),
                    "began": ended,
                    "ended": ended,
                }
                item = self.item("session", number, f"{path}: chat {number}", data)
                yield SourceEntry(item, version=as_text(row["updated_at"]))

    def conversation(self, data: Mapping[str, Any]) -> list[TranscriptEntry]:
        """Return the messages of a chat, stored in Anthropic's format."""
        with open_database(self.folder, str(data["path"])) as database:
            if database is None:
                raise Unreadable(f"{data['path']} is gone")
            rest = "WHERE chat_id = ?"
            for row in database.select("sessions", ("messages_json",), rest, (data["session"],)):
                where = f"the conversation of chat {as_text(data['session'])}"
                found = parse_json(as_text(row["messages_json"]), where)
                messages = found if isinstance(found, list) else []
                at = float(data["ended"])
                return [one for message in messages for one in _parse_message(as_dict(message), at)]
        return []

    def _tasks(self, path: str) -> Iterator[SourceEntry]:
        chats = self._chats(path)
        with open_database(self.folder, path) as database:
            if database is None:
                return
            for row in database.select("scheduled_tasks", _TASK_COLUMNS, "ORDER BY id"):
                when, lost = _parse_schedule(
                    as_text(row["schedule_type"]), as_text(row["schedule_value"])
                )
                data = {
                    "when": when,
                    "zone": as_text(row["timezone"]),
                    "prompt": as_text(row["prompt"]),
                    "chat": ":".join(chats.get(as_text(row["chat_id"])) or ("terminal", "default")),
                    "user": "",
                }
                number = as_text(row["id"])
                item = self.item("job", number, f"{path}: task {number}", data)
                outcome = Outcome("blocked", "", lost) if lost else None
                if as_text(row["status"]) in ("completed", "cancelled", "failed"):
                    outcome = Outcome("skipped", "", f"it is {as_text(row['status'])} there")
                yield SourceEntry(item, outcome)

    def _servers(self) -> Iterator[SourceEntry]:
        paths = [f"{self._data}mcp.json", *self.folder.files(f"{self._data}mcp.d", ".json", 0)]
        for path in paths:
            found = as_dict(self.folder.json(path))
            yield from self.servers(path, found.get("mcpServers"))


def _parse_schedule(kind: str, value: str) -> tuple[str, str]:
    """Return a schedule in Hookline's format, and why it cannot be imported.

    Cron with a seconds field loses that field.
    """
    fields = value.split()
    if kind == "cron" and len(fields) in (6, 7):
        if not re.fullmatch(r"\d+", fields[0]) or fields[6:] not in ([], ["*"]):
            return "", f"seconds and years in its schedule ({value[:60]}) are not supported"
        return " ".join(fields[1:6]), ""
    if kind in ("cron", "once"):
        return value[:100], ""
    return "", f"unknown kind of schedule ({kind[:20]})"


def _parse_message(message: Mapping[str, Any], at: float) -> Iterator[TranscriptEntry]:
    content = message.get("content")
    role = message.get("role")
    if not isinstance(content, list):
        if role in ("user", "assistant"):
            yield TranscriptEntry(at, "user" if role == "user" else "assistant", as_text(content))
        return
    blocks = [as_dict(one) for one in content]
    for block in blocks:
        if block.get("type") == "tool_result":
            inner = block.get("content")
            text = (
                as_text(inner)
                if not isinstance(inner, list)
                else "\n".join(as_text(as_dict(part).get("text")) for part in inner)
            )
            ok = block.get("is_error") is not True
            yield TranscriptEntry(
                at, "tool", text, call_id=as_text(block.get("tool_use_id")), ok=ok
            )
    text = "\n".join(as_text(one.get("text")) for one in blocks if one.get("type") == "text")
    calls = tuple(
        (as_text(one.get("id")), as_text(one.get("name")), as_dict(one.get("input")))
        for one in blocks
        if one.get("type") == "tool_use"
    )
    if role == "assistant":
        yield TranscriptEntry(at, "assistant", text, calls)
    elif text.strip():
        yield TranscriptEntry(at, "user", text)
