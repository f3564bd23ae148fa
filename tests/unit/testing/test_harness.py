"""What a test of a plugin can do with the harness."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, streamed
from hookline_hookspecs import (
    Ask,
    Check,
    CheckResult,
    Context,
    Job,
    Plugin,
    RateLimited,
    StoreError,
    ToolCall,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Harness]


class Tidy(Plugin[NoConfig]):
    """Has a job, a check and a tool that asks."""

    tidied = 0.0

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        register(Job("tidy", self._tidy, every=3600))

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        register(Check("tidiness", lambda: CheckResult(False, "dust", "sweep")))

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Ask:
        return Ask("it sweeps")

    @tool(read_only=True)
    def sweep(self) -> str:
        """Sweep."""
        return "swept"

    async def _tidy(self) -> None:
        self.tidied = self.host.now()


def test_job_runs_when_the_test_says_so(harness: Make) -> None:
    h = harness(Tidy)
    h.clock.stop(1_000.0)
    h.job("tidy")
    assert h.plugin(Tidy).tidied == 1_000.0
    with pytest.raises(KeyError, match="only \\['tidy'\\]"):
        h.job("tody")


def test_check_returns_its_result(harness: Make) -> None:
    h = harness(Tidy)
    assert h.check().detail == "dust"
    assert h.check("tidiness").fix == "sweep"
    with pytest.raises(KeyError, match="tidiness"):
        h.check("tidyness")


def test_failure_of_a_turn_has_a_kind(harness: Make) -> None:
    h = harness(Tidy, model=[RateLimited("too many requests"), "hello"])
    failed = h.send("hello")
    assert failed.failure is not None
    assert (failed.stop, failed.failure.kind) == ("error", "rate")
    assert h.send("again").failure is None


def test_streamed_answer_pauses(harness: Make) -> None:
    h = harness(Tidy, model=[streamed("It will ", 0.3, "rain.")])
    shown: list[tuple[str, float]] = []
    h.runtime.bus.signals.connect(
        "delta", lambda event, **_: shown.append((event.text, time.monotonic()))
    )
    assert h.send("What will be?").text == "It will rain."
    assert "".join(text for text, _ in shown) == "It will rain."
    assert shown[-1][1] - shown[0][1] >= 0.3


def test_question_is_answered_in_the_channel(harness: Make) -> None:
    from hookline.testing import calls

    h = harness(Tidy, questions="channel", model=[calls("sweep"), "Done."])

    async def conversation(channel: Any) -> list[str]:
        await channel.say("Sweep, please")
        await channel.replies(1)
        await channel.say("1")
        return [reply.text for reply in await channel.replies(3)]

    texts = h.run(conversation(h.channel))
    assert "it sweeps" in texts[0].lower()
    assert texts[-1] == "Done."
    assert len(h.questions) == 1


NOTEBOOK = {
    "__init__.py": "from hookline_hookspecs import Plugin\nclass Notebook(Plugin):\n    pass\n",
    "migrations/0001_notes.sql": "CREATE TABLE notebook_notes (text TEXT);",
    "migrations/0002_color.sql": (
        "ALTER TABLE notebook_notes ADD COLUMN color TEXT NOT NULL DEFAULT 'white';"
    ),
    "sql/notes.sql": (
        "-- name: add!\nINSERT INTO notebook_notes (text) VALUES (:text);\n"
        "-- name: colors\nSELECT text, color FROM notebook_notes;\n"
    ),
}


def test_migrations_open_the_database_of_an_older_version(
    harness: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in NOTEBOOK.items():
        file = tmp_path / "packages" / "hookline_notebook" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    notebook = importlib.import_module("hookline_notebook").Notebook
    old = harness(notebook, migrations=1)
    storage = old.plugin(notebook).host.storage
    old.run(storage.execute("add", text="milk"))
    with pytest.raises(StoreError, match="color"):
        old.run(storage.fetch("colors"))
    old.close()
    new = harness(notebook, home=old.home)
    rows = new.run(new.plugin(notebook).host.storage.fetch("colors"))
    assert rows == [{"text": "milk", "color": "white"}]
