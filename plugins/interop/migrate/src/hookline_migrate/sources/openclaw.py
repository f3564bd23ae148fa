"""Reads a home of OpenClaw: ``agent`` schema 23 (SQLite) and the JSON Lines from before it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from hookline_hookspecs.importers import Outcome

from ..database import Database, opened
from ..reading import Folder, Unreadable, a_dict, a_list, a_text
from ..transcript import Said
from .base import Entry, Options, Source, paragraphs, placed
from .hermes import a_number, when_of

AGENT = "agent/openclaw-agent.sqlite"
STATE = "state/openclaw.sqlite"
MOST_EVENT = 64 << 20
"""Bytes of an event, or of a cold transcript, once decompressed."""
_WINDOW = (
    "session_id", "session_key", "created_at", "started_at", "ended_at", "updated_at", "channel",
    "chat_type", "primary_conversation_id", "display_name",
)  # fmt: skip
_JOB = (
    "job_id", "name", "schedule_kind", "schedule_expr", "schedule_tz", "every_ms", "at",
    "payload_kind", "payload_message", "trigger_script", "delivery_channel", "delivery_to",
)  # fmt: skip


class OpenClaw(Source):
    """``openclaw.json``, the workspace, ``agents/``, ``state/`` and what was there before them."""

    name = "openclaw"
    signs = ("openclaw.json", "agents", "workspace", STATE)
    oauth = ("credentials/oauth.json",)
    left: ClassVar[Mapping[str, str]] = {
        "hooks": "hooks are programs; look for a plugin, or write one",
        "extensions": "plugins are programs of another kind",
        "exec-approvals.json": "allow-lists of commands are not moved: what may run is asked anew",
        "delivery-queue": "deliveries under way stay with the program that owes them",
        "memory": "embeddings are not moved: Hookline searches words",
    }

    def __init__(self, folder: Folder, options: Options) -> None:
        super().__init__(folder, options)
        self._config: dict[str, Any] | None = None

    @property
    def config(self) -> dict[str, Any]:
        """``openclaw.json``. Raises ``Unreadable``."""
        if self._config is None:
            self._config = {}  # an error is told once
            self._config = a_dict(self.folder.json5("openclaw.json"))
        return self._config

    def sections(self) -> Iterator[tuple[str, str, Iterator[Entry]]]:
        """The parts of the home."""
        yield "server", "openclaw.json", self._from_config()
        yield "document", "workspace", self._workspace()
        yield "skill", "skills", self.skills("skills")
        for agent in self.folder.names("agents"):
            place = f"agents/{agent}"
            yield "session", place, self._stored(agent)
            yield "session", place, self._written(agent)
        yield "job", STATE, self._state()
        yield "job", "cron/jobs.json", self._old_jobs()
        yield "person", "credentials", self._old_people()
        yield "key", ".env", self.keys()

    # Settings and workspace

    def _from_config(self) -> Iterator[Entry]:
        mcp = a_dict(self.config.get("mcp"))
        yield from self.servers("openclaw.json", mcp.get("servers"))
        for channel, given in a_dict(self.config.get("channels")).items():
            allowed = [one for one in a_list(a_dict(given).get("allowFrom")) if one != "*"]
            yield from self.people(f"openclaw.json: {a_text(channel)}", channel, allowed)

    def _workspace(self) -> Iterator[Entry]:
        agents = a_dict(self.config.get("agents"))
        named = a_text(a_dict(agents.get("defaults")).get("workspace"))
        path = "workspace"
        if named:
            given = Path(named).expanduser()
            if given.is_absolute() and not given.is_relative_to(self.folder.root):
                told = f"the workspace {named} is outside of {self.folder.root}; copy it into it"
                yield self.told("document", named, Outcome("blocked", "", told))
                return
            path = str(given.relative_to(self.folder.root)) if given.is_absolute() else named
        yield from self.document(f"{path}/SOUL.md", "SOUL.md")
        for name in ("AGENTS.md", "IDENTITY.md"):
            yield from self.document(f"{path}/{name}", f"context/{name}")
        user = f"{path}/USER.md"
        yield from self.portrait(user, self.options.chat, self.folder.text(user))
        yield from self.notes(f"{path}/MEMORY.md", _parts(self.folder, f"{path}/MEMORY.md"))
        for inner in self.folder.files(f"{path}/memory", ".md"):
            yield from self._day(inner)
        yield from self.skills(f"{path}/skills")
        for name in self.folder.names(""):
            if name.startswith("workspace-"):
                told = "another agent's workspace; make a profile of it by hand"
                yield self.told("document", name, Outcome("skipped", "", told))

    def _day(self, path: str) -> Iterator[Entry]:
        day = re.search(r"(\d{4}-\d{2}-\d{2})", path)
        created = seconds(f"{day[1]}T12:00:00+00:00") if day else 0.0
        for text in _parts(self.folder, path):
            data: dict[str, Any] = {"text": text, "chat": self.options.chat, "category": "event"}
            data |= {"created": created} if created else {}
            yield Entry(self.item("fact", f"{path}\0{text}", path, data))

    # Conversations

    def _stored(self, agent: str) -> Iterator[Entry]:
        path = f"agents/{agent}/{AGENT}"
        with opened(self.folder, path) as database:
            if database is None:
                return
            counts = dict(_counts(database))
            peers = {
                row["conversation_id"]: row
                for row in database.select(
                    "conversations", ("conversation_id", "channel", "peer_id", "thread_id")
                )
            }
            for row in list(database.select("session_windows", _WINDOW, "ORDER BY created_at")):
                peer = peers.get(row["primary_conversation_id"], {})
                channel, chat = _place(a_text(row["session_key"]), row, peer)
                yield self._session(path, agent, row, (channel, chat), counts)

    def _session(
        self,
        path: str,
        agent: str,
        row: Mapping[str, Any],
        place: tuple[str, str],
        counts: Mapping[str, int],
    ) -> Entry:
        id_ = a_text(row["session_id"])
        began = row["started_at"] or row["created_at"]
        data = {
            "session": id_,
            "path": path,
            "channel": place[0],
            "chat": place[1],
            "title": a_text(row["display_name"]),
            "began": a_number((began or 0) / 1000),
            "ended": a_number((row["ended_at"] or row["updated_at"] or 0) / 1000),
        }
        item = self.item("session", f"{agent}\0{id_}", f"agents/{agent}: {id_}", data)
        return Entry(item, version=str(counts.get(id_, 0)))

    def _written(self, agent: str) -> Iterator[Entry]:
        folder = f"agents/{agent}/sessions"
        index = a_dict(self.folder.json(f"{folder}/sessions.json"))
        keys = {a_text(a_dict(one).get("sessionId")): key for key, one in index.items()}
        found = [*self.folder.files(folder, ".jsonl"), *self.folder.files(folder, ".jsonl.zst")]
        for path in found:
            id_ = Path(path).name.partition(".jsonl")[0]
            row = {"chat_type": "", "channel": ""}
            channel, chat = _place(a_text(keys.get(id_.partition("-topic-")[0])), row, {})
            data = {"session": id_, "path": path, "channel": channel, "chat": chat, "title": ""}
            item = self.item("session", f"{agent}\0{id_}", path, data)
            yield Entry(item, version=str(self._size(path)))

    def _size(self, path: str) -> int:
        real = self.folder.real(path)
        return real.stat().st_size if real is not None else 0

    def conversation(self, data: Mapping[str, Any]) -> list[Said]:
        """The events of a session that are messages."""
        path = str(data["path"])
        if path.endswith(".zst"):
            packed = self.folder.data(path, MOST_EVENT) or b""
            return _said(_unpacked(packed, path).splitlines(), path)
        if path.endswith(".jsonl"):
            return _said(self.folder.lines(path), path)
        with opened(self.folder, path) as database:
            if database is None:
                raise Unreadable(f"{path} is gone")
            wanted = ("event_json", "event_zstd")
            rest = "WHERE session_id = ? ORDER BY seq"
            rows = database.select("transcript_events", wanted, rest, (data["session"],))
            return _said((_event(row, path) for row in rows), path)

    # Jobs and people

    def _state(self) -> Iterator[Entry]:
        with opened(self.folder, STATE) as database:
            if database is None:
                return
            for row in database.select("cron_jobs", _JOB):
                schedule = {"kind": row["schedule_kind"], "expr": row["schedule_expr"]}
                schedule |= {"tz": row["schedule_tz"], "everyMs": row["every_ms"], "at": row["at"]}
                name, script = a_text(row["name"]), row["trigger_script"]
                chat = (a_text(row["delivery_channel"]), a_text(row["delivery_to"]))
                yield self._job(STATE, a_text(row["job_id"]), name, schedule, row, chat, script)
            allowed = ("channel_key", "entry")
            for row in database.select("channel_pairing_allow_entries", allowed):
                yield from self.people(STATE, a_text(row["channel_key"]), [row["entry"]])
            if any(True for _ in database.select("delivery_queue_entries", ("id",), "LIMIT 1")):
                told = "deliveries under way stay with the program that owes them"
                yield self.told("other", "delivery queue", Outcome("skipped", "", told))

    def _old_jobs(self) -> Iterator[Entry]:
        path = "cron/jobs.json"
        for job in map(a_dict, a_list(a_dict(self.folder.json(path)).get("jobs"))):
            payload, delivery = a_dict(job.get("payload")), a_dict(job.get("delivery"))
            row = {
                "payload_kind": payload.get("kind"),
                "payload_message": payload.get("message") or payload.get("text"),
            }
            chat = (
                a_text(delivery.get("channel") or payload.get("channel")),
                a_text(delivery.get("to") or payload.get("to")),
            )
            id_, name = a_text(job.get("id")), a_text(job.get("name"))
            yield self._job(path, id_, name, a_dict(job.get("schedule")), row, chat, None)

    def _job(
        self,
        path: str,
        id_: str,
        name: str,
        schedule: Mapping[str, Any],
        row: Mapping[str, Any],
        chat: tuple[str, str],
        script: Any,
    ) -> Entry:
        when, zone, lost = when_of(schedule)
        prompt = a_text(row["payload_message"])
        channel, peer = chat
        data = {
            "when": when,
            "zone": zone,
            "prompt": prompt,
            "chat": f"{channel}:{peer}" if channel not in ("", "last") and peer else "",
            "user": "",
        }
        item = self.item("job", id_, f"{path}: {name or id_}", data)
        if script or row["payload_kind"] not in (None, "agentTurn", "agent_turn", "systemEvent"):
            lost = "it runs a script of its own; write it as a prompt, or as a plugin"
        return Entry(item, Outcome("blocked", "", lost) if lost else None)

    def _old_people(self) -> Iterator[Entry]:
        for name in self.folder.names("credentials"):
            found = re.fullmatch(r"(\w+)(?:-.+)?-allowFrom\.json", name)
            if found is not None:
                path = f"credentials/{name}"
                yield from self.people(
                    path, found[1], a_dict(self.folder.json(path)).get("allowFrom")
                )


def _parts(folder: Folder, path: str) -> list[str]:
    return paragraphs(folder.text(path) or "")


def _counts(database: Database) -> Iterator[tuple[str, int]]:
    counts: dict[str, int] = {}
    for row in database.select("transcript_events", ("session_id",)):
        id_ = a_text(row["session_id"])
        counts[id_] = counts.get(id_, 0) + 1
    yield from counts.items()


def _place(key: str, row: Mapping[str, Any], peer: Mapping[str, Any]) -> tuple[str, str]:
    """Channel and chat of a session: of its conversation, else of its key.

    Keys are ``agent:ID:main``, ``agent:ID:telegram:direct:111``, ``agent:ID:discord:channel:5``,
    older ones ``telegram:group:-1``.
    """
    if peer.get("peer_id"):
        return placed(a_text(peer.get("channel")), a_text(peer["peer_id"]))
    parts = key.split(":")
    if parts[0] == "agent":
        parts = parts[2:]
    if len(parts) >= 3 and parts[1] in ("direct", "dm", "group", "channel"):
        return placed(parts[0], parts[2])
    return placed(a_text(row["channel"]), parts[-1] if len(parts) > 1 else "")


def _event(row: Mapping[str, Any], path: str) -> str:
    if row["event_json"] is not None:
        return a_text(row["event_json"])
    packed = row["event_zstd"]
    data = _unpacked(packed, path) if isinstance(packed, bytes) else b""
    return data.decode("utf-8", "replace")


def _unpacked(packed: bytes, path: str) -> bytes:
    from zstandard import ZstdDecompressor, ZstdError

    try:
        with ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            data = stream.read(MOST_EVENT + 1)
    except ZstdError as error:
        raise Unreadable(f"{path} holds a damaged text ({error})") from None
    if len(data) > MOST_EVENT:
        raise Unreadable(f"{path} holds more than {MOST_EVENT:,} bytes in one text")
    return data


def _said(lines: Iterable[str | bytes], path: str) -> list[Said]:
    """The messages among events; a line that is none, such as half a one at the end, is passed
    over."""
    found: list[Said] = []
    for line in lines:
        try:
            event = a_dict(json.loads(line))
        except (ValueError, RecursionError):
            continue
        message = a_dict(event.get("message"))
        if event.get("type") == "message" and message:
            at = message.get("timestamp")
            stamp = a_number(at / 1000) if isinstance(at, int | float) else 0.0
            if (one := _one(message, stamp or seconds(event.get("timestamp")))) is not None:
                found.append(one)
    return found


def _one(message: Mapping[str, Any], at: float) -> Said | None:
    role, content = message.get("role"), message.get("content")
    parts = [a_dict(part) for part in content] if isinstance(content, list) else []
    text = a_text(content) if isinstance(content, str) else ""
    text = text or "\n".join(a_text(p.get("text")) for p in parts if p.get("type") == "text")
    if role == "user":
        return Said(at, "user", text)
    if role == "assistant":
        calls = tuple(
            (a_text(p.get("id")), a_text(p.get("name")), a_dict(p.get("arguments")))
            for p in parts
            if p.get("type") in ("toolCall", "tool_call")
        )
        return Said(at, "assistant", text, calls)
    if role in ("toolResult", "tool"):
        call = a_text(message.get("toolCallId"))
        name = a_text(message.get("toolName"))
        return Said(
            at, "tool", text, call_id=call, name=name, ok=message.get("isError") is not True
        )
    return None


def seconds(value: Any) -> float:
    """A time in ISO 8601, or Unix time in milliseconds, as Unix seconds; 0 if it is none."""
    if isinstance(value, int | float):
        return a_number(value / 1000)
    try:
        found = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        return a_number((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError, OSError):
        return 0.0
