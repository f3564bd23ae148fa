"""Move a home of Hermes Agent with 1,000 conversations and 50,000 messages in: seconds and MB.

``python benchmarks/migrate.py [CONVERSATIONS]`` makes the home with the columns that are read, each
message a paragraph of 20 to 120 words, then runs ``hookline migrate plan``, ``apply`` twice and
``undo`` as processes of their own. The peak is of the process (``ru_maxrss``).
"""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EACH = 50
TEXT = """
harbour deploy window basalt the a of and key server morning reads writes table please what where
when moved tide ferry invoice budget draft number seven answer because tested again
"""
WORDS = re.findall(r"\w+", TEXT)


def make(folder: Path, conversations: int) -> int:
    """Write a ``state.db`` and return its bytes."""
    chance = random.Random(7)
    database = sqlite3.connect(folder / "state.db")
    database.execute(
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, user_id TEXT, chat_id TEXT,"
        " thread_id TEXT, title TEXT, display_name TEXT, started_at REAL, ended_at REAL,"
        " message_count INTEGER, parent_session_id TEXT)"
    )
    database.execute(
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT,"
        " tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL,"
        " active INTEGER DEFAULT 1)"
    )
    for number in range(conversations):
        at = 1_700_000_000.0 + 3600 * number
        database.execute(
            "INSERT INTO sessions (id, source, title, started_at, message_count)"
            " VALUES (?, 'cli', ?, ?, ?)",
            (f"s{number}", f"conversation {number}", at, EACH),
        )
        for turn in range(EACH):
            text = " ".join(chance.choices(WORDS, k=chance.randint(20, 120))) + "."
            database.execute(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
                (f"s{number}", ("user", "assistant")[turn % 2], text, at + turn),
            )
    database.commit()
    database.execute("CREATE INDEX of_session ON messages (session_id, timestamp)")
    database.close()
    return (folder / "state.db").stat().st_size


def run(home: Path, *words: str) -> tuple[float, float, float, list[dict[str, str]]]:
    """Seconds, CPU seconds, peak MB, and the rows of ``hookline migrate WORDS --json``."""
    env = os.environ | {"HOOKLINE_HOME": str(home)}
    command = [sys.executable, "-m", "hookline", "migrate", *words, "--json"]
    began = time.perf_counter()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        rows = json.loads(process.stdout.read())
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    cpu = used.ru_utime + used.ru_stime
    return time.perf_counter() - began, cpu, used.ru_maxrss / 1024, rows


def main() -> None:
    """Write a row for each command."""
    conversations = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        old, home = Path(folder) / "old", Path(folder) / "home"
        old.mkdir()
        size, count = make(old, conversations), conversations * EACH
        say(f"{conversations:,} conversations, {count:,} messages, {size / 1e6:.0f} MB")
        for verb in ("plan", "apply", "apply", "undo"):
            more = () if verb == "undo" else ("--from", str(old))
            seconds, cpu, peak, rows = run(home, verb, "hermes", *more)
            states = {row["state"] for row in rows if row["kind"] == "session"}
            stored = (home / "hookline.db").stat().st_size / 1e6
            line = f"{verb:<6}{seconds:6.1f} s, CPU {cpu:5.1f} s, {peak:3.0f} MB"
            say(f"{line}, home {stored:3.0f} MB, {states}")


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
