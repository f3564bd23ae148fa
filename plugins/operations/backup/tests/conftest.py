"""A home with a conversation, files and secrets, and the commands on it."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_backup import Backup

Files = dict[str, bytes]


class Home:
    """A home that ``hookline backup`` is tried on."""

    def __init__(self, folder: Path, make: Callable[..., Harness]) -> None:
        self.folder = folder
        self._make = make
        self._harness: Harness | None = None

    def say(self, text: str) -> str:
        """Say something; the answer repeats it."""
        return self.opened.send(text).text

    @property
    def opened(self) -> Harness:
        """A process that has the home open."""
        if self._harness is None:
            self._harness = self._make(
                Backup, home=self.folder, model=[f"answer {number}" for number in range(20)]
            )
        return self._harness

    def close(self) -> None:
        """End that process."""
        if self._harness is not None:
            self._harness.close()
            self._harness = None

    def run(self, *words: str, code: int = 0) -> str:
        """``hookline backup WORDS``; what it prints, or its error where one is expected."""
        done = self.opened.cli(shlex.join(["backup", *words]))
        assert done.exit_code == code, done.stderr + done.stdout
        return done.stderr if code else done.stdout

    def newest(self) -> Path:
        """The newest backup."""
        return max((self.folder / "backups").glob("hookline-*.tar.zst*"))

    def words(self) -> list[str]:
        """What was said, by all."""
        with closing(sqlite3.connect(self.folder / "hookline.db")) as database:
            return [row[0] for row in database.execute("SELECT text FROM messages ORDER BY seq")]

    def files(self) -> Files:
        """The home's own files."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
            and not path.name.startswith("hookline")
            and path.suffix not in (".lock", ".holder")
            and "backups" not in path.parts
        }


@pytest.fixture
def homes(harness: Callable[..., Harness], tmp_path: Path) -> Iterator[Callable[[str], Home]]:
    """``homes(NAME)``: a home in this test's folder."""
    made: dict[str, Home] = {}

    def home(name: str) -> Home:
        return made.setdefault(name, Home(tmp_path / "all" / name, harness))

    yield home
    for one in made.values():
        one.close()


@pytest.fixture
def home(homes: Callable[[str], Home]) -> Home:
    """A home in use."""
    made = homes("home")
    made.folder.mkdir(parents=True)
    wanted: dict[str, Any] = {
        "memories/MEMORY.md": "likes tea\n",
        "skills/brew/SKILL.md": "# Brew\n",
        "chats/telegram/1%2F2/USER.md": "Ana\n",
        "logs/hookline.log": "noise\n",
        ".env": "OPENAI_API_KEY=sk-1\n",
    }
    for name, text in wanted.items():
        (made.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / name).write_text(text)
    (made.folder / "skills" / "brew" / "run.sh").touch(0o700)
    (made.folder / "context").symlink_to("/etc")
    made.say("first")
    return made


@pytest.fixture
def one_backup(home: Home) -> bytes:
    """The bytes of a backup."""
    home.run("create")
    return home.newest().read_bytes()
