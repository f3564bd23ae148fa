"""What a backup takes, and what it does to a process that writes meanwhile.

``uv run --all-packages python benchmarks/backup.py [MB]`` fills a home with a database of that size
(100) and a thousand small files, and has one process write a message every 5 ms while
``hookline backup create``, ``verify`` and ``restore --to`` run. Seconds of wall time, and the
longest write.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

WORDS = [f"word{number}" for number in range(5000)]


def hookline(home: Path, *words: str) -> tuple[float, str]:
    """Run a command; seconds, and what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HOOKLINE")}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "hookline", *words],
        env=env | {"HOOKLINE_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - began, done.stdout


def fill(home: Path, megabytes: int) -> None:
    """Make a home of this size."""
    hookline(home, "sessions", "list")
    chance = random.Random(1)
    with closing(sqlite3.connect(home / "hookline.db")) as database, database:
        for number in range(megabytes * 500):
            text = " ".join(chance.choices(WORDS, k=140))
            row = ("s", number, "t", "user", text, text, 0.0)
            database.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    for number in range(1000):
        file = home / "chats" / f"chat{number}" / "USER.md"
        file.parent.mkdir(parents=True)
        file.write_text(" ".join(chance.choices(WORDS, k=100)))


class Writer(threading.Thread):
    """Writes a message every 5 ms; ``longest`` is what one took, in seconds."""

    def __init__(self, database: Path) -> None:
        super().__init__(daemon=True)
        self._database, self.longest, self.ended = database, 0.0, False

    def run(self) -> None:
        """Write until ``ended``."""
        with closing(sqlite3.connect(self._database, timeout=60)) as database:
            number = 0
            while not self.ended:
                number += 1
                began = time.perf_counter()
                with database:
                    row = ("w", number, "t", "user", "x" * 500, "x", 0.0)
                    database.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                self.longest = max(self.longest, time.perf_counter() - began)
                time.sleep(0.005)


def main() -> None:
    """Print the table."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    say = sys.stdout.write
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        fill(home, megabytes)
        size = (home / "hookline.db").stat().st_size / 1e6
        writer = Writer(home / "hookline.db")
        writer.start()
        time.sleep(1)
        alone, writer.longest = writer.longest, 0.0
        file = Path(folder) / "one.tar.zst"
        made, _ = hookline(home, "backup", "create", "--out", str(file))
        beside = writer.longest
        writer.ended = True
        writer.join()
        verified, _ = hookline(home, "backup", "verify", str(file))
        restored, _ = hookline(home, "backup", "restore", str(file), "--to", f"{folder}/other")
        say(f"database {size:.0f} MB, backup {file.stat().st_size / 1e6:.0f} MB\n")
        say(f"create {made:.1f} s, verify {verified:.1f} s, restore {restored:.1f} s\n")
        say(f"longest write {alone * 1000:.0f} ms alone, {beside * 1000:.0f} ms beside create\n")


if __name__ == "__main__":
    main()
