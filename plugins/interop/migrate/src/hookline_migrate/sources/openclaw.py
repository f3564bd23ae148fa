"""Reads a home of OpenClaw: ``agent`` schema 23 (SQLite) and the older JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from hookline_hookspecs.importers import Outcome

from ..database import SourceDatabase, open_database
from ..source_folder import SourceFolder, Unreadable, as_dict, as_list, as_text
from ..transcript import TranscriptEntry
from .base import MigrationSource, SourceEntry, SourceOptions, map_chat, paragraphs
from .hermes import as_timestamp, parse_schedule

AGENT = "agent/openclaw-agent.sqlite"
STATE = "state/openclaw.sqlite"
MAX_EVENT_BYTES = 64 << 20
"""Bytes of a decompressed event or transcript."""
_WINDOW_COLUMNS = (
    "session_id", "session_key", "created_at", "started_at", "ended_at", "updated_at", "channel",
    "chat_type", "primary_conversation_id", "display_name",
)  # fmt: skip
_JOB_COLUMNS = (
    "job_id", "name", "schedule_kind", "schedule_expr", "schedule_tz", "every_ms", "at",
    "payload_kind", "payload_message", "trigger_script", "delivery_channel", "delivery_to",
)  # fmt: skip


class OpenClaw(MigrationSource):
    """Reads ``openclaw.json``, the workspace, ``agents/``, ``state/`` and the older files."""

    name = "openclaw"
    markers = ("openclaw.json", "agents", "workspace", STATE)
    login_files = ("credentials/oauth.json",)
    not_imported: ClassVar[Mapping[str, str]] = {
        "hooks": "hooks are programs; find or write a plugin instead",
        "extensions": "plugins cannot be imported",
        "exec-approvals.json": "allow-lists of commands are not imported: approve commands again",
        "delivery-queue": "pending deliveries stay with the program",
        "memory": "embeddings are not imported: Hookline searches the texts",
    }

    def __init__(self, folder: SourceFolder, options: SourceOptions) -> None:
        super().__init__(folder, options)
        self._config: dict[str, Any] | None = None

    @property
    def config(self) -> dict[str, Any]:
        """``openclaw.json``. Raises ``Unreadable``."""
        if self._config is None:
            self._config = {}  # report an error only once
            self._config = as_dict(self.folder.json5("openclaw.json"))
        return self._config

    def sections(self) -> Iterator[tuple[str, str, Iterator[SourceEntry]]]:
        """Yield the parts of the home."""
        yield "server", "openclaw.json", self._config_items()
        yield "document", "workspace", self._workspace()
        yield "skill", "skills", self.skills("skills")
        for agent in self.folder.names("agents"):
            place = f"agents/{agent}"
            yield "session", place, self._database_sessions(agent)
            yield "session", place, self._jsonl_sessions(agent)
        yield "job", STATE, self._state_items()
        yield "job", "cron/jobs.json", self._json_jobs()
        yield "person", "credentials", self._allow_files()
        yield "key", ".env", self.keys()

    def _config_items(self) -> Iterator[SourceEntry]:
        mcp = as_dict(self.config.get("mcp"))
        yield from self.servers("openclaw.json", mcp.get("servers"))
        for channel, given in as_dict(self.config.get("channels")).items():
            allowed = [one for one in as_list(as_dict(given).get("allowFrom")) if one != "*"]
            yield from self.people(f"openclaw.json: {as_text(channel)}", channel, allowed)

    def _workspace(self) -> Iterator[SourceEntry]:
        agents = as_dict(self.config.get("agents"))
        named = as_text(as_dict(agents.get("defaults")).get("workspace"))
        path = "workspace"
        if named:
            configured = Path(named).expanduser()
            if configured.is_absolute() and not configured.is_relative_to(self.folder.root):
                reason = f"the workspace {named} is outside of {self.folder.root}. Copy it there"
                yield self.report_only("document", named, Outcome("blocked", "", reason))
                return
            root = self.folder.root
            path = str(configured.relative_to(root)) if configured.is_absolute() else named
        yield from self.document(f"{path}/SOUL.md", "SOUL.md")
        for name in ("AGENTS.md", "IDENTITY.md"):
            yield from self.document(f"{path}/{name}", f"context/{name}")
        user = f"{path}/USER.md"
        yield from self.user_profile(user, self.options.chat, self.folder.text(user))
        yield from self.notes(
            f"{path}/MEMORY.md", _read_paragraphs(self.folder, f"{path}/MEMORY.md")
        )
        for inner in self.folder.files(f"{path}/memory", ".md"):
            yield from self._day_facts(inner)
        yield from self.skills(f"{path}/skills")
        for name in self.folder.names(""):
            if name.startswith("workspace-"):
                reason = "another agent's workspace; create a profile for it yourself"
                yield self.report_only("document", name, Outcome("skipped", "", reason))

    def _day_facts(self, path: str) -> Iterator[SourceEntry]:
        day = re.search(r"(\d{4}-\d{2}-\d{2})", path)
        created = parse_time(f"{day[1]}T12:00:00+00:00") if day else 0.0
        for text in _read_paragraphs(self.folder, path):
            data: dict[str, Any] = {"text": text, "chat": self.options.chat, "category": "event"}
            data |= {"created": created} if created else {}
            yield SourceEntry(self.item("fact", f"{path}\0{text}", path, data))

    def _database_sessions(self, agent: str) -> Iterator[SourceEntry]:
        path = f"agents/{agent}/{AGENT}"
        with open_database(self.folder, path) as database:
            if database is None:
                return
            counts = dict(_event_counts(database))
            peers = {
                row["conversation_id"]: row
                for row in database.select(
                    "conversations", ("conversation_id", "channel", "peer_id", "thread_id")
                )
            }
            for row in list(
                database.select("session_windows", _WINDOW_COLUMNS, "ORDER BY created_at")
            ):
                peer = peers.get(row["primary_conversation_id"], {})
                channel, chat = _chat_of(as_text(row["session_key"]), row, peer)
                yield self._session(path, agent, row, (channel, chat), counts)

    def _session(
        self,
        path: str,
        agent: str,
        row: Mapping[str, Any],
        place: tuple[str, str],
        counts: Mapping[str, int],
    ) -> SourceEntry:
        id_ = as_text(row["session_id"])
        began = row["started_at"] or row["created_at"]
        data = {
            "session": id_,
            "path": path,
            "channel": place[0],
            "chat": place[1],
            "title": as_text(row["display_name"]),
            "began": as_timestamp((began or 0) / 1000),
            "ended": as_timestamp((row["ended_at"] or row["updated_at"] or 0) / 1000),
        }
        item = self.item("session", f"{agent}\0{id_}", f"agents/{agent}: {id_}", data)
        return SourceEntry(item, version=str(counts.get(id_, 0)))

    def _jsonl_sessions(self, agent: str) -> Iterator[SourceEntry]:
        folder = f"agents/{agent}/sessions"
        index = as_dict(self.folder.json(f"{folder}/sessions.json"))
        keys = {as_text(as_dict(one).get("sessionId")): key for key, one in index.items()}
        found = [*self.folder.files(folder, ".jsonl"), *self.folder.files(folder, ".jsonl.zst")]
        for path in found:
            id_ = Path(path).name.partition(".jsonl")[0]
            row = {"chat_type": "", "channel": ""}
            channel, chat = _chat_of(as_text(keys.get(id_.partition("-topic-")[0])), row, {})
            data = {"session": id_, "path": path, "channel": channel, "chat": chat, "title": ""}
            item = self.item("session", f"{agent}\0{id_}", path, data)
            yield SourceEntry(item, version=str(self._size(path)))

    def _size(self, path: str) -> int:
        real = self.folder.real(path)
        return real.stat().st_size if real is not None else 0

    def conversation(self, data: Mapping[str, Any]) -> list[TranscriptEntry]:
        """Return the messages of a session."""
        path = str(data["path"])
        if path.endswith(".zst"):
            packed = self.folder.data(path, MAX_EVENT_BYTES) or b""
            return _parse_messages(_decompress(packed, path).splitlines())
        if path.endswith(".jsonl"):
            return _parse_messages(self.folder.lines(path))
        with open_database(self.folder, path) as database:
            if database is None:
                raise Unreadable(f"{path} is gone")
            columns = ("event_json", "event_zstd")
            rest = "WHERE session_id = ? ORDER BY seq"
            rows = database.select("transcript_events", columns, rest, (data["session"],))
            return _parse_messages(_event_text(row, path) for row in rows)

    def _state_items(self) -> Iterator[SourceEntry]:
        with open_database(self.folder, STATE) as database:
            if database is None:
                return
            for row in database.select("cron_jobs", _JOB_COLUMNS):
                schedule = {"kind": row["schedule_kind"], "expr": row["schedule_expr"]}
                schedule |= {"tz": row["schedule_tz"], "everyMs": row["every_ms"], "at": row["at"]}
                name = as_text(row["name"])
                script = row["trigger_script"]
                chat = (as_text(row["delivery_channel"]), as_text(row["delivery_to"]))
                yield self._job(STATE, as_text(row["job_id"]), name, schedule, row, chat, script)
            allowed = ("channel_key", "entry")
            for row in database.select("channel_pairing_allow_entries", allowed):
                yield from self.people(STATE, as_text(row["channel_key"]), [row["entry"]])
            if any(True for _ in database.select("delivery_queue_entries", ("id",), "LIMIT 1")):
                reason = "pending deliveries stay with the program"
                yield self.report_only("other", "delivery queue", Outcome("skipped", "", reason))

    def _json_jobs(self) -> Iterator[SourceEntry]:
        path = "cron/jobs.json"
        for job in map(as_dict, as_list(as_dict(self.folder.json(path)).get("jobs"))):
            payload = as_dict(job.get("payload"))
            delivery = as_dict(job.get("delivery"))
            row = {
                "payload_kind": payload.get("kind"),
                "payload_message": payload.get("message") or payload.get("text"),
            }
            chat = (
                as_text(delivery.get("channel") or payload.get("channel")),
                as_text(delivery.get("to") or payload.get("to")),
            )
            id_ = as_text(job.get("id"))
            name = as_text(job.get("name"))
            yield self._job(path, id_, name, as_dict(job.get("schedule")), row, chat, None)

    def _job(
        self,
        path: str,
        id_: str,
        name: str,
        schedule: Mapping[str, Any],
        row: Mapping[str, Any],
        chat: tuple[str, str],
        script: Any,
    ) -> SourceEntry:
        when, zone, lost = parse_schedule(schedule)
        prompt = as_text(row["payload_message"])
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
            lost = "it runs a script; rewrite it as a prompt or a plugin"
        return SourceEntry(item, Outcome("blocked", "", lost) if lost else None)

    def _allow_files(self) -> Iterator[SourceEntry]:
        for name in self.folder.names("credentials"):
            found = re.fullmatch(r"(\w+)(?:-.+)?-allowFrom\.json", name)
            if found is not None:
                path = f"credentials/{name}"
                yield from self.people(
                    path, found[1], as_dict(self.folder.json(path)).get("allowFrom")
                )


def _read_paragraphs(folder: SourceFolder, path: str) -> list[str]:
    return paragraphs(folder.text(path) or "")


def _event_counts(database: SourceDatabase) -> Iterator[tuple[str, int]]:
    counts: dict[str, int] = {}
    for row in database.select("transcript_events", ("session_id",)):
        id_ = as_text(row["session_id"])
        counts[id_] = counts.get(id_, 0) + 1
    yield from counts.items()


def _chat_of(key: str, row: Mapping[str, Any], peer: Mapping[str, Any]) -> tuple[str, str]:
    """Return channel and chat of a session, from its conversation or its key.

    Keys are ``agent:ID:main``, ``agent:ID:telegram:direct:111``, ``agent:ID:discord:channel:5``,
    older ones ``telegram:group:-1``.
    """
    if peer.get("peer_id"):
        return map_chat(as_text(peer.get("channel")), as_text(peer["peer_id"]))
    parts = key.split(":")
    if parts[0] == "agent":
        parts = parts[2:]
    if len(parts) >= 3 and parts[1] in ("direct", "dm", "group", "channel"):
        return map_chat(parts[0], parts[2])
    return map_chat(as_text(row["channel"]), parts[-1] if len(parts) > 1 else "")


def _event_text(row: Mapping[str, Any], path: str) -> str:
    if row["event_json"] is not None:
        return as_text(row["event_json"])
    packed = row["event_zstd"]
    data = _decompress(packed, path) if isinstance(packed, bytes) else b""
    return data.decode("utf-8", "replace")


def _decompress(packed: bytes, path: str) -> bytes:
    from zstandard import ZstdDecompressor, ZstdError

    try:
        with ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            data = stream.read(MAX_EVENT_BYTES + 1)
    except ZstdError as error:
        raise Unreadable(f"{path} has a damaged text ({error})") from None
    if len(data) > MAX_EVENT_BYTES:
        raise Unreadable(f"{path} has a text of more than {MAX_EVENT_BYTES:,} bytes")
    return data


def _parse_messages(lines: Iterable[str | bytes]) -> list[TranscriptEntry]:
    """Return the messages among events; invalid lines, such as a cut last one, are skipped."""
    found: list[TranscriptEntry] = []
    for line in lines:
        try:
            event = as_dict(json.loads(line))
        except (ValueError, RecursionError):
            continue
        message = as_dict(event.get("message"))
        if event.get("type") == "message" and message:
            at = message.get("timestamp")
            stamp = as_timestamp(at / 1000) if isinstance(at, int | float) else 0.0
            if (
                one := _parse_event(message, stamp or parse_time(event.get("timestamp")))
            ) is not None:
                found.append(one)
    return found


def _parse_event(message: Mapping[str, Any], at: float) -> TranscriptEntry | None:
    role = message.get("role")
    content = message.get("content")
    parts = [as_dict(part) for part in content] if isinstance(content, list) else []
    text = as_text(content) if isinstance(content, str) else ""
    text = text or "\n".join(as_text(p.get("text")) for p in parts if p.get("type") == "text")
    if role == "user":
        return TranscriptEntry(at, "user", text)
    if role == "assistant":
        calls = tuple(
            (as_text(p.get("id")), as_text(p.get("name")), as_dict(p.get("arguments")))
            for p in parts
            if p.get("type") in ("toolCall", "tool_call")
        )
        return TranscriptEntry(at, "assistant", text, calls)
    if role in ("toolResult", "tool"):
        call = as_text(message.get("toolCallId"))
        name = as_text(message.get("toolName"))
        return TranscriptEntry(
            at, "tool", text, call_id=call, name=name, ok=message.get("isError") is not True
        )
    return None


def parse_time(value: Any) -> float:
    """Parse ISO 8601 or Unix milliseconds; return Unix seconds, 0 if it is invalid."""
    if isinstance(value, int | float):
        return as_timestamp(value / 1000)
    try:
        found = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        return as_timestamp((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError, OSError):
        return 0.0
