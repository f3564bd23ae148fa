"""A disk that fails during a turn, at each statement that the turn executes.

In process, through the real runtime and store; the connections come from a factory that fails at
the n-th statement, for every n until a turn passes untouched.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hookline.config import PluginEntry, load
from hookline.runtime import Runtime
from hookline.testing import FakeChannel, ScriptedModel, calls
from hookline_hookspecs import HooklineError, Inbound, Message, ModelRequest
from support.durability.computer import paired
from support.durability.notebook import Notebook

WORK = ["Working", calls("append", line="one"), calls("look", line="two")]
PATIENCE = 30
"""Seconds after which a turn counts as hanging."""


@dataclass
class Disk:
    """Makes connections whose n-th statement from now on fails; then all follow if it ``lasts``.

    ``frees`` says whether SQLite ends the transaction by itself, as it may for either error.
    """

    code: int
    text: str
    lasts: bool
    frees: bool
    left: int | None = None
    failed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def connect(self, path: Path, **options: Any) -> sqlite3.Connection:
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                if disk.fails(sql):
                    if disk.frees and self.in_transaction:
                        super().execute("ROLLBACK")
                    error = sqlite3.OperationalError(disk.text)
                    error.sqlite_errorcode = disk.code
                    raise error
                return super().execute(sql, *values)

        return sqlite3.connect(path, factory=Connection, **options)

    def fails(self, sql: str) -> bool:
        """Count a statement."""
        with self.lock:
            # A rollback needs no space, and touches nothing but the index of the log.
            if self.left is None or sql.startswith("ROLLBACK"):
                return False
            self.left -= 1
            hit = self.left <= 0 if self.lasts else self.left == 0
            self.failed += hit
            return hit


DISKS = {
    "an error": (sqlite3.SQLITE_IOERR, "disk I/O error", False, False),
    "an error that ends the transaction": (sqlite3.SQLITE_IOERR, "disk I/O error", False, True),
    "a full disk": (sqlite3.SQLITE_FULL, "database or disk is full", True, True),
}
KINDS = [pytest.param(kind, marks=pytest.mark.slow) if n else kind for n, kind in enumerate(DISKS)]


@dataclass
class Model:
    """Answers by what was said last, and remembers histories that no provider would take."""

    invalid: list[str] = field(default_factory=list)

    def __call__(self, request: ModelRequest) -> Any:
        last = request.messages[-1]
        if problem := wrong(request.messages):
            self.invalid.append(problem)
        if any(block["type"] == "tool_result" for block in last.to_dict()["blocks"]):
            return "Done."
        return WORK if last.text == "work" else f"<{last.text}>"


def wrong(messages: tuple[Message, ...] | list[Message]) -> str:
    """What is wrong with a history, if anything."""
    roles = [message.role for message in messages]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2):
        return f"roles {roles}"
    return "" if paired([message.to_dict() for message in messages]) else "unpaired calls"


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an empty database."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    home = tmp_path / "template"

    async def make() -> None:
        async with runtime(home, Model()):
            pass

    asyncio.run(make())
    return home


def runtime(home: Path, model: Model, disk: Disk | None = None) -> Runtime:
    """The core with the plugin ``notebook``."""
    [driver] = entry_points(group="hookline.stores", name="sqlite")
    options = {} if disk is None else {"connect": disk.connect}
    loaded = load(home, {}, {"model": "test/model", "workspace": str(Path.cwd())})
    made = Runtime(
        replace(loaded, plugins={"notebook": PluginEntry("notebook")}),
        home,
        store=driver.load()("sqlite", home, **options),
        strict=False,
        classes={"notebook": Notebook},
    )
    made.engine.providers.add("test", ScriptedModel([model] * 50))
    return made


async def say(core: Runtime, text: str) -> tuple[str, str]:
    """How a message ends, and what the person reads: as ``hookline run`` does it."""
    inbound = Inbound("terminal", "default", "", f"id of {text}", text, session_id="s")
    try:
        submission = await core.dispatcher.submit(inbound, "no")
        await submission.mark_delivered()
        await core.finish_background(PATIENCE)
    except HooklineError as error:
        return "raised", str(error)
    return submission.turn.stop, submission.turn.reply


async def failing_turn(home: Path, disk: Disk, n: int) -> tuple[str, str]:
    async with asyncio.timeout(PATIENCE), runtime(home, Model(), disk) as core:
        disk.left = n
        try:
            return await say(core, "work")
        finally:
            disk.left = None


async def next_turn(home: Path) -> tuple[Model, tuple[str, str], list[Message]]:
    model = Model()
    async with asyncio.timeout(PATIENCE), runtime(home, model) as core:
        outcome = await say(core, "next")
        return model, outcome, await core.sessions.stored_messages("s")


def problems(home: Path, disk: Disk, n: int) -> Iterator[str]:
    """Everything that is not as it should be after a fault at the n-th statement."""
    ran = Path("ran.log")
    ran.unlink(missing_ok=True)
    stop, text = asyncio.run(failing_turn(home, disk, n))
    if stop not in ("raised", "error", "done"):
        yield f"the turn ended as {stop!r}"
    if stop != "done" and (str(home) not in text or "Traceback" in text or "\n" in text):
        yield f"no sentence: {text!r}"
    with closing(sqlite3.connect(home / "hookline.db")) as db:
        if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            yield "the database is damaged"
    model, outcome, messages = asyncio.run(next_turn(home))
    if outcome != ("done", "<next>"):
        yield f"the next turn ended as {outcome}"
    yield from (f"the model was sent {problem}" for problem in model.invalid)
    if problem := wrong(messages):
        yield f"stored are {problem}"
    said = [message.text for message in messages if message.role == "user" and message.text]
    if said not in (["work", "next"], ["next"]):
        yield f"the person is thought to have said {said}"
    if stop == "done" and "Done." not in [message.text for message in messages]:
        yield "the reply that was given is not stored"
    if ran.exists() and ran.read_text().splitlines().count("append one") > 1:
        yield "a writing tool ran twice"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_disk_failure_at_any_statement_fails_one_turn_only(template: Path, kind: str) -> None:
    found: dict[int, list[str]] = {}
    n, home = 0, template.with_name("home")
    disk = Disk(*DISKS[kind])
    while n == 0 or disk.failed:
        n, disk.failed = n + 1, 0
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(template, home)
        if faults := list(problems(home, disk, n)):
            found[n] = faults
    assert n > 20, "the turn did not go through the connections that fail"
    assert not found, "\n".join(f"{n}: {'; '.join(faults)}" for n, faults in found.items())


async def heard_on_a_channel(home: Path, disk: Disk, n: int) -> Iterator[str]:
    """An acknowledged message is answered once, in the same process."""
    async with asyncio.timeout(PATIENCE), runtime(home, Model(), disk) as core:
        channel = FakeChannel(core)
        core.channels.register(channel, "notebook")
        disk.left = n
        said = ["m2"]
        try:
            await channel.say("work", message_id="m1")
            said.append("m1")
        except HooklineError:
            disk.left = None  # nothing was acknowledged, so nothing is owed
        while disk.failed == 0 and len(channel.sent) < len(said) - 1:
            await asyncio.sleep(0.01)
        disk.left = None
        await channel.say("next", message_id="m2")
        while {reply.in_reply_to for reply in channel.sent} < set(said):
            await asyncio.sleep(0.05)
            await core.gateway_host.recover()  # as the gateway does now and then
        await core.finish_background(PATIENCE)
        counts = Counter(reply.in_reply_to for reply in channel.sent if not reply.repeated)
        return iter([f"answers by message: {dict(counts)}"] if max(counts.values()) > 1 else [])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_acknowledged_message_is_answered_when_the_disk_works_again(
    template: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline.dispatch.dispatcher.STORE_PAUSE", 0.02)
    found: dict[int, list[str]] = {}
    n, home = 0, template.with_name("home")
    disk = Disk(*DISKS[kind])
    while n == 0 or disk.failed:
        n, disk.failed = n + 1, 0
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(template, home)
        try:
            faults = list(asyncio.run(heard_on_a_channel(home, disk, n)))
        except TimeoutError:
            faults = ["no answer came"]
        with closing(sqlite3.connect(home / "hookline.db")) as db:
            if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                faults.append("the database is damaged")
        if faults:
            found[n] = faults
        disk.left = None
    assert n > 20, "the turn did not go through the connections that fail"
    assert not found, "\n".join(f"{n}: {'; '.join(faults)}" for n, faults in found.items())
