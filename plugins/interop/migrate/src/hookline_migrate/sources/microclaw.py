"""Reads a data folder of MicroClaw: ``runtime/microclaw.db`` and the files of its groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from hookline_hookspecs.importers import Outcome

from ..database import opened
from ..reading import Unreadable, a_dict, a_text, parsed
from ..transcript import Said
from .base import Entry, Source, paragraphs, placed
from .openclaw import seconds

RUNTIMES = ("runtime", "microclaw.data/runtime")
"""Where the runtime is: in the data folder, or in the folder from which it was started."""
_CHAT = ("chat_id", "chat_title", "channel", "external_chat_id")
_FACT = ("id", "chat_id", "content", "category", "created_at", "is_archived")
_TASK = ("id", "chat_id", "prompt", "schedule_type", "schedule_value", "timezone", "status")


class MicroClaw(Source):
    """``runtime/groups``, ``microclaw.db``, ``mcp.json``, ``skills/`` and ``SOUL.md``."""

    name = "microclaw"
    signs = ("runtime", "microclaw.data", "microclaw.config.yaml")
    oauth = ("auth", "oauth")
    left: ClassVar[Mapping[str, str]] = {
        "hooks": "hooks are programs; look for a plugin, or write one",
        "runtime/hooks_state.json": "hooks are programs; look for a plugin, or write one",
    }

    @property
    def _runtime(self) -> str:
        return next((one for one in RUNTIMES if self.folder.exists(one)), RUNTIMES[0])

    @property
    def _data(self) -> str:
        return self._runtime.removesuffix("runtime")

    def sections(self) -> Iterator[tuple[str, str, Iterator[Entry]]]:
        """The parts of the data folder."""
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
        """The platform's channel and chat by the program's own number."""
        with opened(self.folder, path) as database:
            if database is None:
                return {}
            return {
                a_text(row["chat_id"]): placed(
                    a_text(row["channel"]).partition(":")[0], a_text(row["external_chat_id"])
                )
                for row in database.select("chats", _CHAT)
            }

    def _groups(self) -> Iterator[Entry]:
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
                place = chats.get(number) or placed(channel, number)
                chat = ":".join(place)
                yield from self._memory(f"{folder}/{number}/AGENTS.md", chat)
                user = f"{folder}/{number}/USER.md"
                yield from self.portrait(user, chat, self.folder.text(user))

    def _memory(self, path: str, chat: str) -> Iterator[Entry]:
        yield from self.notes(path, paragraphs(self.folder.text(path) or ""), chat)

    def _facts(self, path: str) -> Iterator[Entry]:
        chats = self._chats(path)
        with opened(self.folder, path) as database:
            if database is None:
                return
            for row in database.select("memories", _FACT, "ORDER BY id"):
                place = chats.get(a_text(row["chat_id"])) or ("terminal", "default")
                text = a_text(row["content"])
                data = {
                    "text": text,
                    "chat": ":".join(place),
                    "category": a_text(row["category"]).lower(),
                    "created": seconds(row["created_at"]),
                }
                key = f"{row['id']}\0{text}"
                item = self.item("fact", key, f"{path}: memory {a_text(row['id'])}", data)
                gone = Outcome("skipped", "", "it was archived there")
                yield Entry(item, gone if row["is_archived"] else None)

    def _sessions(self, path: str) -> Iterator[Entry]:
        chats = self._chats(path)
        with opened(self.folder, path) as database:
            if database is None:
                raise Unreadable(f"{path} is missing")
            wanted = ("chat_id", "updated_at", "label")
            for row in list(database.select("sessions", wanted)):
                number = a_text(row["chat_id"])
                channel, chat = chats.get(number) or ("microclaw", number)
                ended = seconds(row["updated_at"])
                data = {
                    "session": row["chat_id"],
                    "path": path,
                    "channel": channel,
                    "chat": chat,
                    "title": a_text(row["label"]),
                    "began": ended,
                    "ended": ended,
                }
                item = self.item("session", number, f"{path}: chat {number}", data)
                yield Entry(item, version=a_text(row["updated_at"]))

    def conversation(self, data: Mapping[str, Any]) -> list[Said]:
        """The messages of a chat, in Anthropic's form."""
        with opened(self.folder, str(data["path"])) as database:
            if database is None:
                raise Unreadable(f"{data['path']} is gone")
            rest = "WHERE chat_id = ?"
            for row in database.select("sessions", ("messages_json",), rest, (data["session"],)):
                where = f"the conversation of chat {a_text(data['session'])}"
                found = parsed(a_text(row["messages_json"]), where)
                messages = found if isinstance(found, list) else []
                at = float(data["ended"])
                return [one for message in messages for one in _said(a_dict(message), at)]
        return []

    def _tasks(self, path: str) -> Iterator[Entry]:
        chats = self._chats(path)
        with opened(self.folder, path) as database:
            if database is None:
                return
            for row in database.select("scheduled_tasks", _TASK, "ORDER BY id"):
                when, lost = _when(a_text(row["schedule_type"]), a_text(row["schedule_value"]))
                data = {
                    "when": when,
                    "zone": a_text(row["timezone"]),
                    "prompt": a_text(row["prompt"]),
                    "chat": ":".join(chats.get(a_text(row["chat_id"])) or ("terminal", "default")),
                    "user": "",
                }
                number = a_text(row["id"])
                item = self.item("job", number, f"{path}: task {number}", data)
                told = Outcome("blocked", "", lost) if lost else None
                if a_text(row["status"]) in ("completed", "cancelled", "failed"):
                    told = Outcome("skipped", "", f"it is {a_text(row['status'])} there")
                yield Entry(item, told)

    def _servers(self) -> Iterator[Entry]:
        paths = [f"{self._data}mcp.json", *self.folder.files(f"{self._data}mcp.d", ".json", 0)]
        for path in paths:
            found = a_dict(self.folder.json(path))
            yield from self.servers(path, found.get("mcpServers"))


def _when(kind: str, value: str) -> tuple[str, str]:
    """A schedule as Hookline reads it, and why it cannot be moved; cron with seconds loses a 0."""
    fields = value.split()
    if kind == "cron" and len(fields) in (6, 7):
        if not re.fullmatch(r"\d+", fields[0]) or fields[6:] not in ([], ["*"]):
            return "", f"its schedule ({value[:60]}) has seconds or years, which are not known here"
        return " ".join(fields[1:6]), ""
    if kind in ("cron", "once"):
        return value[:100], ""
    return "", f"its schedule ({kind[:20]}) is not known"


def _said(message: Mapping[str, Any], at: float) -> Iterator[Said]:
    content, role = message.get("content"), message.get("role")
    if not isinstance(content, list):
        if role in ("user", "assistant"):
            yield Said(at, "user" if role == "user" else "assistant", a_text(content))
        return
    blocks = [a_dict(one) for one in content]
    for block in blocks:
        if block.get("type") == "tool_result":
            inner = block.get("content")
            text = (
                a_text(inner)
                if not isinstance(inner, list)
                else "\n".join(a_text(a_dict(part).get("text")) for part in inner)
            )
            ok = block.get("is_error") is not True
            yield Said(at, "tool", text, call_id=a_text(block.get("tool_use_id")), ok=ok)
    text = "\n".join(a_text(one.get("text")) for one in blocks if one.get("type") == "text")
    calls = tuple(
        (a_text(one.get("id")), a_text(one.get("name")), a_dict(one.get("input")))
        for one in blocks
        if one.get("type") == "tool_use"
    )
    if role == "assistant":
        yield Said(at, "assistant", text, calls)
    elif text.strip():
        yield Said(at, "user", text)
