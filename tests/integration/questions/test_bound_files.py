"""An approval covers the files of a call as they were when the person was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline.testing.harness import EveryoneMayAnswer
from hookline_approvals import Approvals
from hookline_files import Files
from hookline_hookspecs import Ask, Plugin, Question, Questions, ToolCall, hookimpl, tool
from hookline_hookspecs.optional_services import Access
from hookline_hookspecs.questions import ALLOW_ALWAYS, ALLOW_ONCE, StoredQuestion
from hookline_permissions import Permissions
from hookline_shell import Shell

MakeHarness = Callable[..., Harness]
NO_SANDBOX = {"shell": {"sandbox": {"enabled": False}}, "permissions": {}}
SWAPPED = "echo swapped > stolen\n"
CHANGED = "a file that it uses has changed since you were asked"


class Swapper(Plugin):
    """A person who approves everything, while someone changes a file before each answer."""

    changes: list[tuple[str, str | None]]

    @hookimpl
    def setup(self, host: Any) -> None:
        self.workspace, self.asked = host.paths.workspace, []
        self.changes, self.answers = [], []

    @hookimpl(tryfirst=True)
    def on_question(self, ctx: Any, question: Question) -> str:
        self.asked.append(question)
        if self.changes:
            name, text = self.changes.pop(0)
            write(self.workspace / name, text)
        return self.answers.pop(0) if self.answers else ALLOW_ONCE


class Sender(Plugin):
    """A tool that sends a file, and a guard that asks about it."""

    @tool(approval="it sends a file")
    def send_out(self, attachments: list[str], note: str = "") -> str:
        """Send files."""
        return "sent"

    @hookimpl
    def setup(self, host: Any) -> None:
        host.services.provide(Access, EveryoneMayAnswer())


def write(path: Path, text: str | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if text is None:
        path.unlink()
    else:
        path.write_text(text)


PACKAGE = '{"scripts": {"build": "echo fine"}}'
EVIL_PACKAGE = '{"scripts": {"build": "echo swapped > stolen"}}'


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "name", "before", "after"),
    [
        ("bash run.sh", "run.sh", "echo fine\n", SWAPPED),
        ("cd sub && ./run.sh", "sub/run.sh", "#!/bin/sh\necho fine\n", "#!/bin/sh\n" + SWAPPED),
        ("source lib.sh", "lib.sh", "x=1\n", SWAPPED),
        (". ./lib.sh", "lib.sh", "x=1\n", SWAPPED),
        ("f=run.sh; bash $f", "run.sh", "echo fine\n", SWAPPED),
        ("cat run.sh | sh", "run.sh", "echo fine\n", SWAPPED),
        ("sh < run.sh", "run.sh", "echo fine\n", SWAPPED),
        ("python3 x.py", "x.py", "print(1)\n", "open('stolen', 'w')\n"),
        ("python3 -m tool", "tool.py", "print(1)\n", "open('stolen', 'w')\n"),
        ("make -C sub all", "sub/Makefile", "all:\n\ttrue\n", "all:\n\techo > ../stolen\n"),
        ("make", "GNUmakefile", None, "all:\n\techo > stolen\n"),
        ("npm run build", "package.json", PACKAGE, EVIL_PACKAGE),
        ("cmake .", "CMakeLists.txt", "# one\n", "# two\n"),
        ("terraform apply", "main.tf", "# one\n", "# two\n"),
        ("pip install .", "setup.py", "# one\n", "# two\n"),
        ("nox", "conftest.py", "# one\n", "# two\n"),
        ("cd '[id]' && terraform apply", "[id]/main.tf", "# one\n", "# two\n"),
        ("cd '[id]' && cat *.sh | sh", "[id]/run.sh", "echo fine\n", SWAPPED),
        ("bash new.sh", "new.sh", None, SWAPPED),
    ],
)
def test_command_is_asked_about_again_when_what_it_runs_has_changed(
    harness: MakeHarness, command: str, name: str, before: str | None, after: str
) -> None:
    h = harness(
        Permissions,
        Shell,
        Swapper,
        config=NO_SANDBOX,
        model=[calls("bash", command=command), "done"],
    )
    h.run(h.aopen())
    if before is not None:
        write(h.workspace / name, before)
    person = h.plugin(Swapper)
    person.changes, person.answers = [(name, after)], [ALLOW_ONCE, "Deny"]
    (result,) = h.send("go").tool_calls
    assert result.text.startswith("Denied: ")
    assert not list(h.workspace.rglob("stolen"))
    first, second = person.asked
    assert CHANGED not in first.text
    assert CHANGED in second.text
    assert second.preview.startswith(first.preview)
    assert f"+{after.splitlines()[-1]}" in second.preview


def test_call_runs_when_the_change_was_approved_too(harness: MakeHarness) -> None:
    h = harness(Permissions, Shell, Swapper, config=NO_SANDBOX)
    h.model.steps += [calls("bash", command="bash run.sh"), "done"]
    h.run(h.aopen())
    write(h.workspace / "run.sh", "echo one\n")
    h.plugin(Swapper).changes = [("run.sh", "echo two\n")]
    (result,) = h.send("go").tool_calls
    assert "two" in result.text
    assert "-echo one\n+echo two" in h.plugin(Swapper).asked[1].preview


def test_file_that_changes_each_time_is_refused(harness: MakeHarness) -> None:
    h = harness(Sender, Swapper, model=[calls("send_out", attachments=["a.txt"]), "done"])
    h.run(h.aopen())
    write(h.workspace / "a.txt", "0")
    h.plugin(Swapper).changes = [("a.txt", str(n)) for n in range(1, 20)]
    (result,) = h.send("go").tool_calls
    assert "has changed each time" in result.text
    assert len(h.plugin(Swapper).asked) == 4


def test_edit_is_asked_about_again_with_the_new_difference(harness: MakeHarness) -> None:
    class Guard(Plugin):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | None:
            return Ask("it edits") if call.name == "write_file" else None

    write_call = calls("write_file", path="notes.txt", content="new\n")
    h = harness(Files, Guard, Swapper, model=[write_call, "done"])
    h.run(h.aopen())
    write(h.workspace / "notes.txt", "old\n")
    person = h.plugin(Swapper)
    person.changes, person.answers = [("notes.txt", "work of a day\n")], [ALLOW_ONCE, "Deny"]
    h.send("go")
    assert (h.workspace / "notes.txt").read_text() == "work of a day\n"
    assert "+work of a day" in person.asked[1].preview


def test_grant_for_always_ends_when_the_file_changes(harness: MakeHarness) -> None:
    h = harness(Sender, Approvals, Swapper)
    h.run(h.aopen())
    person = h.plugin(Swapper)
    asked = []
    for content, answer in (("a", ALLOW_ALWAYS), ("a", "Deny"), ("b", "Deny"), ("a", "Deny")):
        write(h.workspace / "a.txt", content)
        h.model.steps += [calls("send_out", attachments=["a.txt"]), "done"]
        person.answers = [answer]
        (result,) = h.send("go").tool_calls
        asked.append((len(person.asked), result.ok))
    assert asked == [(1, True), (1, True), (2, False), (2, True)]


async def test_parked_call_is_asked_about_again_when_its_file_has_changed(
    harness: MakeHarness,
) -> None:
    h = harness(Sender, model=[calls("send_out", attachments=["a.txt"]), "done"])
    await h.aopen()
    write(h.workspace / "a.txt", "one\n")
    await h.runtime.gateway_host.recover()
    await h.channel.say("go")
    first = await _open_question(h, "")
    write(h.workspace / "a.txt", "two\n")
    await h.channel.say("1")
    second = await _open_question(h, first.id)
    assert CHANGED in second.text
    assert "-one\n+two" in second.preview
    await h.channel.say("1")
    await _until(lambda: any(one.text == "done" for one in h.channel.sent))
    (block,) = h.model.last.messages[-1].blocks
    assert block.text == "sent"


async def _open_question(h: Harness, before: str) -> StoredQuestion:
    found: list[StoredQuestion] = []
    async with asyncio.timeout(10):
        while not found or found[0].id == before:
            await asyncio.sleep(0.01)
            found = list(await h.runtime.engine.services[Questions].open())
    await _until(lambda: any(one.question == found[0].id for one in h.channel.sent))
    return found[0]


async def _until(found: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not found():
            await asyncio.sleep(0.01)
