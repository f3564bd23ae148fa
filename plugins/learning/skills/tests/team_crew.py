"""Members of a team: homes of their own, one store, the command line and a model."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hookline.testing import Harness, calls
from hookline_hookspecs import Host, Plugin, ToolResult, hookimpl
from hookline_hookspecs.audit import Audit
from hookline_hookspecs.plugin import NoConfig
from hookline_skills import Skills
from hookline_skills.team.team_skills import TeamSkills

from .conftest import Gate, Hands, skill_text

BODY = "1. Build it.\n2. Ship it.\n\nDetails.\n\n3. Look.\n"
SKILL = "SKILL.md"


class Book(Plugin[NoConfig]):
    """Stands for the audit."""

    rows: list[tuple[str, str, str, dict[str, Any]]]

    @hookimpl
    def setup(self, host: Host) -> None:
        self.rows = []
        host.services.provide(Audit, self)

    def note(
        self,
        kind: str,
        object: str,  # noqa: A002
        verdict: str = "",
        *,
        detail: Mapping[str, Any] | None = None,
        **_more: Any,
    ) -> None:
        self.rows.append((kind, object, verdict, dict(detail or {})))

    def approved(self, session_id: str, approver: str) -> None:
        pass


class Member:
    """One home."""

    def __init__(
        self,
        name: str,
        home: Path,
        make: Callable[..., Harness],
        core: Mapping[str, Any],
        team: str | None,
    ) -> None:
        self.name, self.home, self._make, self._core = name, home, make, core
        self.settings: dict[str, Any] = {"team": team}
        self.restart()

    def restart(self, **settings: Any) -> None:
        """A new process on this home, with other settings."""
        if hasattr(self, "harness"):
            self.harness.close()
        self.settings |= settings
        plugins, config = (Gate, Skills, Hands, Book), {"skills": self.settings}
        self.harness = self._make(*plugins, home=self.home, config=config, core=self._core)

    @property
    def team(self) -> TeamSkills:
        found = self.harness.plugin(Skills).parts.team
        assert found is not None
        return found

    @property
    def book(self) -> list[tuple[str, str, str, dict[str, Any]]]:
        return self.harness.plugin(Book).rows

    def do(self, words: str) -> str:
        """Output of ``hookline skills WORDS``, which must succeed."""
        done = self.harness.cli(f"skills {words}")
        assert done.exit_code == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def fails(self, words: str) -> str:
        """Error sentence of ``hookline skills WORDS``, which must fail."""
        done = self.harness.cli(f"skills {words}")
        assert done.exit_code == 1, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stderr.strip()

    def write(self, name: str, body: str = BODY, description: str = "", **files: str) -> Path:
        """A skill of one's own; ``files`` are further ones, ``scripts__x_sh="…"``."""
        folder = self.home / "skills" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SKILL).write_text(skill_text(name, description, body), "utf-8")
        for given, text in files.items():
            place = folder / given.replace("__", "/").replace("_", ".")
            place.parent.mkdir(exist_ok=True)
            place.write_text(text, "utf-8")
        return folder

    def loaded(self, name: str) -> str:
        """The text that is loaded here; empty if none is."""
        done = self.harness.cli(f"skills show {name} --json")
        return str(json.loads(done.stdout)["text"]) if done.exit_code == 0 else ""

    def log(self, name: str) -> list[tuple[int, str]]:
        """Version and state of each row of ``skills log``."""
        rows = json.loads(self.do(f"log {name} --json"))
        return [(row["version"], row["state"]) for row in rows]

    def key(self) -> str:
        """The public key."""
        return self.do(f"key --name {self.name}").strip()

    def call(self, tool: str, text: str = "go", **arguments: Any) -> ToolResult:
        """The result of a tool in a turn."""
        self.harness.model.steps += [[calls(tool, **arguments)], "Done."]
        return self.harness.send(text).tool_calls[0]

    def sees(self, text: str, session: str = "test") -> str:
        """The context that is sent with a message."""
        self.harness.model.steps.append("Very well.")
        self.harness.send(text, session=session)
        return self.harness.model.last.messages[-1].context

    def doctor(self) -> str:
        """The detail of the plugin's doctor check."""
        checks = [check for _, check in self.harness.checks() if check.name == "team skills"]
        return str(self.harness.run(checks[0].run()).detail)


class Crew:
    """Ann, who proposes; Ben, who reviews; Cid, who uses."""

    def __init__(
        self, folder: Path, make: Callable[..., Harness], store: str = "", address: str = ""
    ) -> None:
        self.folder, self.git = folder, not store
        self.bare = folder / "team.git"
        subprocess.run(["git", "init", "-q", "--bare", str(self.bare)], check=True)
        team = "postgres" if store else address or f"git+file://{self.bare}"
        core = {"store": store} if store else {}

        def member(name: str) -> Member:
            return Member(name, folder / name, make, core, team)

        self.member = member
        self.ann, self.ben, self.cid = self.all = (member("ann"), member("ben"), member("cid"))
        self.keys = {one.name: one.key() for one in self.all}
        self.trust(self.keys["ben"])

    def trust(self, *keys: str) -> None:
        """Have all homes trust these keys."""
        for member in self.all:
            member.restart(trust=list(keys))

    def share(self, name: str = "ship-it", body: str = BODY) -> None:
        """Ann's skill, approved by Ben."""
        self.ann.write(name, body)
        self.ann.do(f"propose {name}")
        self.ben.do(f"review --approve {name}")

    def clone(self) -> Path:
        """A work tree of the repository, as anybody has who may write to it."""
        work = self.folder / "clone"
        if not work.exists():
            self._git(self.folder, "clone", "-q", "-b", "main", str(self.bare), str(work))
        self._git(work, "pull", "-q", "origin", "main")
        return work

    def push(self, *more: str) -> None:
        """Send what was changed in the work tree."""
        work = self.folder / "clone"
        self._git(work, "add", "-A")
        self._git(work, "commit", "-qm", "x", "--allow-empty")
        self._git(work, "push", "-q", *more, "origin", "HEAD:main")

    def _git(self, folder: Path, *words: str) -> None:
        who = ("-c", "user.name=eve", "-c", "user.email=eve@x")
        done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, (shlex.join(words), done.stderr)
