"""Homes as other programs write them.

Hermes Agent 0.19.0 and nanobot 0.3.5 were run against a local model, and their files read;
OpenClaw's and MicroClaw's tables are those of their sources, without the columns that are not read.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import zstandard

from .migration_home import MigrationHome, database

AT = 1_795_483_968.0
SKILL = "---\nname: {name}\ndescription: How to deploy Basalt\n---\n\n# Steps\n1. run make deploy\n"
HERMES_TABLES = (
    "CREATE TABLE schema_version (version INTEGER NOT NULL)",
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, chat_id TEXT,"
    " thread_id TEXT, display_name TEXT, parent_session_id TEXT, started_at REAL NOT NULL,"
    " ended_at REAL, message_count INTEGER DEFAULT 0, title TEXT)",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,"
    " role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT,"
    " timestamp REAL NOT NULL, active INTEGER NOT NULL DEFAULT 1)",
)


def hermes(migration: MigrationHome) -> sqlite3.Connection:
    """A home of Hermes Agent, its database still open with a log, as beside a running one."""
    migration.write(
        "memories/MEMORY.md", "The deploy key for Basalt lives in Oslo.\n§\nUse make, not just."
    )
    migration.write("memories/USER.md", "Prefers tea.\n§\nLives in Trondheim.")
    migration.write("SOUL.md", "You speak plainly.")
    migration.write("skills/ops/basalt-deploy/SKILL.md", SKILL.format(name="basalt-deploy"))
    schedule = {"kind": "cron", "expr": "0 9 * * *", "display": "0 9 * * *"}
    migration.write(
        "cron/jobs.json",
        {"jobs": [{"id": "7a3ced62c292", "name": "news", "prompt": "Say what is new",
                   "schedule": schedule, "enabled": True, "origin": None}]},
    )  # fmt: skip
    migration.write("pairing/telegram-approved.json", {"111": {"approved_at": AT}})
    migration.write("auth.json", {"version": 1, "providers": {"nous": {"refresh_token": "r"}}})
    migration.write(".env", "OPENROUTER_API_KEY=sk-or-1\nHOOKLINE_MODEL=evil/one\n")
    home = database(migration.old / "state.db", "PRAGMA journal_mode=WAL", *HERMES_TABLES)
    home.execute("INSERT INTO schema_version VALUES (22)")
    hermes_session(home, "20261124_013244_d5cf2c", "cli", "remember the deploy key")
    calls = [{"id": "call_0", "type": "function",
              "function": {"name": "memory", "arguments": '{"action": "add"}'}}]  # fmt: skip
    rows: list[tuple[Any, ...]] = [
        ("user", '\0json:[{"type": "text", "text": "what is the reactor codename?"},'
         ' {"type": "image_url"}]', None, None, None),
        ("assistant", "", None, json.dumps(calls), None),
        ("tool", '{"success": true}', "call_0", None, "memory"),
        ("assistant", "The reactor codename is Zirconwhale.", None, None, None),
    ]  # fmt: skip
    for number, row in enumerate(rows):
        home.execute(
            "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name,"
            " timestamp) VALUES ('20261124_013244_d5cf2c', ?, ?, ?, ?, ?, ?)",
            (*row, AT + number),
        )
    hermes_session(home, "tg", "telegram", "on the phone", chat="111")
    home.execute(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('tg', 'user', 'hi', 1)"
    )
    home.commit()
    return home


def hermes_session(
    home: sqlite3.Connection, id_: str, source: str, title: str, chat: str | None = None
) -> None:
    """A row of ``sessions``."""
    home.execute(
        "INSERT INTO sessions (id, source, chat_id, title, started_at, message_count)"
        " VALUES (?, ?, ?, ?, ?, 4)",
        (id_, source, chat, title, AT),
    )


def openclaw(migration: MigrationHome) -> None:
    """A home of OpenClaw with its database, and a transcript from before it, and a cold one."""
    migration.write(
        "openclaw.json",
        """// settings
        {mcp: {servers: {'time-zone': {command: 'uvx', args: ['mcp-server-time',],},},},
         channels: {telegram: {allowFrom: ['*', 222]}}, agents: {defaults: {}}}""",
    )
    migration.write("workspace/SOUL.md", "You are a lobster.")
    migration.write("workspace/AGENTS.md", "Answer in one sentence.")
    migration.write(
        "workspace/MEMORY.md", "# Memory\n\n- Ships on Fridays.\n- The cat is called Mo.\n"
    )
    migration.write(
        "workspace/memory/2026-01-31.md", "# 31 January\n\n- Met Ana about the harbour.\n"
    )
    migration.write(
        "agents/main/sessions/old.jsonl", "\n".join(map(json.dumps, events("from a file")))
    )
    cold = migration.old / "agents/main/sessions/cold/older.jsonl.zst"
    cold.parent.mkdir(parents=True)
    lines = "\n".join(map(json.dumps, events("from the cold")))
    cold.write_bytes(zstandard.compress(lines.encode()))
    home = database(
        migration.old / "agents/main/agent/openclaw-agent.sqlite",
        "CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, created_at"
        " INTEGER, updated_at INTEGER, started_at INTEGER, ended_at INTEGER, chat_type TEXT,"
        " channel TEXT, primary_conversation_id TEXT, display_name TEXT)",
        "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT,"
        " created_at INTEGER, event_zstd BLOB, PRIMARY KEY (session_id, seq))",
        "CREATE TABLE conversations (conversation_id TEXT PRIMARY KEY, channel TEXT, peer_id TEXT,"
        " thread_id TEXT)",
        "INSERT INTO conversations VALUES ('c1', 'telegram', '222', NULL)",
    )
    at = int(AT * 1000)
    window = (at, at, at, None, "direct", "telegram", "c1", "Harbour")
    home.execute(
        "INSERT INTO session_windows VALUES ('s1', 'agent:main:telegram:direct:222',"
        " ?, ?, ?, ?, ?, ?, ?, ?)",
        window,
    )
    for number, event in enumerate(events("from the database")):
        text: str | None = json.dumps(event)
        packed = zstandard.compress(str(text).encode()) if number == 1 else None
        home.execute(
            "INSERT INTO transcript_events VALUES ('s1', ?, ?, ?, ?)",
            (number, None if packed else text, at, packed),
        )
    home.commit()
    home.close()
    state = database(
        migration.old / "state/openclaw.sqlite",
        "CREATE TABLE cron_jobs (job_id TEXT, name TEXT, schedule_kind TEXT, schedule_expr TEXT,"
        " schedule_tz TEXT, every_ms INTEGER, at TEXT, payload_kind TEXT, payload_message TEXT,"
        " trigger_script TEXT, delivery_channel TEXT, delivery_to TEXT)",
        "CREATE TABLE channel_pairing_allow_entries (channel_key TEXT, entry TEXT)",
        "INSERT INTO cron_jobs VALUES ('j1', 'tide', 'every', NULL, NULL, 7200000, NULL,"
        " 'agentTurn', 'How high is the tide?', NULL, 'telegram', '222')",
        "INSERT INTO cron_jobs VALUES ('j2', 'script', 'cron', '0 1 * * *', NULL, NULL, NULL,"
        " 'command', 'x', 'rm', NULL, NULL)",
        "INSERT INTO channel_pairing_allow_entries VALUES ('telegram', '333')",
    )
    state.commit()
    state.close()


def events(answer: str) -> list[dict[str, Any]]:
    """The events of a transcript."""
    stamp = "2026-11-24T01:32:48.000Z"
    call = {"type": "toolCall", "id": "t1", "name": "exec", "arguments": {"command": "ls"}}
    return [
        {"type": "session", "version": 4, "id": "s1", "timestamp": stamp, "cwd": "/w"},
        {"type": "message", "timestamp": stamp,
         "message": {"role": "user", "content": [{"type": "text", "text": "where are you?"}]}},
        {"type": "message", "timestamp": stamp,
         "message": {"role": "assistant", "content": [call]}},
        {"type": "message", "timestamp": stamp,
         "message": {"role": "toolResult", "toolCallId": "t1", "toolName": "exec",
                     "content": [{"type": "text", "text": "harbour.txt"}]}},
        {"type": "message", "timestamp": stamp,
         "message": {"role": "assistant", "content": [{"type": "text", "text": answer}]}},
    ]  # fmt: skip


def nanobot(migration: MigrationHome) -> None:
    """A home of nanobot."""
    migration.write(
        "config.json",
        {"tools": {"mcpServers": {"time": {"command": "uvx", "env": {"TZ": "UTC"}}}},
         "channels": {"telegram": {"allowFrom": ["444", "*"]}}},
    )  # fmt: skip
    migration.write("pairing.json", {"approved": {"discord": ["555"]}, "pending": {}})
    memory = (
        "# Long-term Memory\n\n## Preferences\n\n(User preferences)\n\n- Likes short answers.\n"
    )
    migration.write("workspace/memory/MEMORY.md", memory)
    migration.write("workspace/SOUL.md", "You are small.")
    lines: list[dict[str, Any]] = [
        {"_type": "metadata", "key": "cli:direct", "created_at": "2026-11-24T01:33:35.955577",
         "updated_at": "2026-11-24T01:33:38", "metadata": {}},
        {"role": "user", "content": "cron it", "timestamp": "2026-11-24T01:33:38.070194"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c6", "function": {"name": "cron", "arguments": '{"action": "add"}'}}],
         "timestamp": "2026-11-24T01:33:38.669061"},
        {"role": "tool", "tool_call_id": "c6", "name": "cron", "content": "Created job",
         "timestamp": "2026-11-24T01:33:38.669075"},
        {"role": "assistant", "content": "Done", "timestamp": "2026-11-24T01:33:38.669077"},
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, lines)) + '\n{"role": "user", "cont'
    migration.write("sessions/d25cf5a8/Y2xpOmRpcmVjdA.jsonl", text)
    payload = {"kind": "agent_turn", "message": "Say what is new", "origin_channel": "cli",
               "origin_chat_id": "direct"}  # fmt: skip
    job = {"id": "6efbe64b", "name": "news", "enabled": True, "payload": payload,
           "schedule": {"kind": "cron", "expr": "0 9 * * *", "tz": "UTC"}}  # fmt: skip
    gone = {"action": "add", "params": {**job, "id": "gone"}}
    actions = [{"action": "add", "params": job}, gone, {"action": "del", "params": {"id": "gone"}}]
    migration.write("workspace/cron/action.jsonl", "\n".join(map(json.dumps, actions)))


def microclaw(migration: MigrationHome) -> None:
    """A data folder of MicroClaw."""
    migration.write("runtime/groups/AGENTS.md", "- The office is in Bergen.\n")
    migration.write("runtime/groups/telegram/1/AGENTS.md", "## Person: Ana\n\n- Her boat is red.\n")
    migration.write("runtime/groups/telegram/1/USER.md", "Ana sails.")
    headers = {"Authorization": "Bearer x"}
    server = {"endpoint": "http://127.0.0.1:8090/mcp", "headers": headers}
    migration.write("mcp.json", {"mcpServers": {"m": server}})
    said = [
        {"role": "user", "content": "which boat?"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "read_memory", "input": {"scope": "chat"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "red", "is_error": False}]},
        {"role": "assistant", "content": [{"type": "text", "text": "the red one"}]},
    ]  # fmt: skip
    home = database(
        migration.old / "runtime/microclaw.db",
        "CREATE TABLE chats (chat_id INTEGER PRIMARY KEY, chat_title TEXT, channel TEXT,"
        " external_chat_id TEXT)",
        "CREATE TABLE sessions (chat_id INTEGER PRIMARY KEY, messages_json TEXT NOT NULL,"
        " updated_at TEXT NOT NULL, label TEXT)",
        "CREATE TABLE memories (id INTEGER PRIMARY KEY, chat_id INTEGER, content TEXT NOT NULL,"
        " category TEXT NOT NULL, created_at TEXT NOT NULL, is_archived INTEGER NOT NULL)",
        "CREATE TABLE scheduled_tasks (id INTEGER PRIMARY KEY, chat_id INTEGER, prompt TEXT,"
        " schedule_type TEXT, schedule_value TEXT, timezone TEXT, status TEXT)",
        "INSERT INTO chats VALUES (1, 'Ana', 'telegram', '777')",
        "INSERT INTO memories VALUES (1, 1, 'Ana sails on Sundays', 'KNOWLEDGE',"
        " '2026-01-02T03:04:05Z', 0)",
        "INSERT INTO memories VALUES (2, 1, 'old news', 'EVENT', '2025-01-02T03:04:05Z', 1)",
        "INSERT INTO scheduled_tasks VALUES (1, 1, 'Wind?', 'cron', '0 0 7 * * *', '', 'active')",
        "INSERT INTO scheduled_tasks VALUES (2, 1, 'x', 'cron', '*/5 0 7 * * *', '', 'active')",
    )
    home.execute(
        "INSERT INTO sessions VALUES (1, ?, '2026-11-24T01:33:38+00:00', 'Boats')",
        (json.dumps(said),),
    )
    home.commit()
    home.close()
