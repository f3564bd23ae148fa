"""The messages quoted on the page about plugins are those of the program."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Context, Plugin, Section, Session, Turn, hookimpl, tool
from support.docs.pages import output_difference, read
from support.machine import Machine
from support.site_packages import Site

MakeHarness = Callable[..., Harness]
PAGE = "switching-plugins.md"
HEAD = "from hookline_hookspecs import Plugin, command, hookimpl, tool\n"
TOOL = """
    @tool
    def forecast(self) -> str:
        "Tell the weather."
        return "rain"
"""
COMMAND = """
    @command("/forecast")
    def say(self, ctx, args):
        "Tell the weather."
        return "rain"
"""
DAYS = """
from pydantic import BaseModel
class Days(BaseModel):
    days: int = 1
class One(Plugin[Days]):
    pass
"""
BODIES = {
    "alpha": f"class One(Plugin):\n{TOOL}{COMMAND}",
    "beta": f"class One(Plugin):\n{TOOL}",
    "gamma": f"class One(Plugin):\n{COMMAND}",
    "delta": "class One(Plugin):\n    requires_api = (9, 0)\n",
    "epsilon": "class One(Plugin):\n    requires = ('radar',)\n",
    "zeta": "import no_such_library\nclass One(Plugin):\n    pass\n",
    "eta": DAYS,
    "theta": "class One(Plugin):\n    @hookimpl\n    def pre_tol(self, ctx, call): ...\n",
    "iota": "class One(Plugin):\n    @hookimpl\n    def setup(self, host): "
    "raise RuntimeError('no such sensor')\n",
}
CASES = {
    "two packages provide the same plugin": "weather",
    "two plugins have a tool with the same name": "beta",
    "two plugins have a command with the same name": "gamma",
    "it requires a newer Hookline": "delta",
    "it requires another plugin": "epsilon",
    "a required package is not installed": "zeta",
    "a setting is invalid": "eta",
    "a hook is misspelt": "theta",
    "its `setup` raises": "iota",
    "it is not installed": "kappa",
    "a plugin that can be used only once is used twice": "alpha:two",
    "it has no name after its colon": "alpha:",
}
CONFIG = """\
plugins:
  alpha: true
  beta: true
  gamma: true
  delta: true
  epsilon: true
  zeta: true
  eta: {days: many}
  theta: true
  iota: true
  kappa: true
  weather: true
  "alpha:two": true
  "alpha:": true
"""


def section(heading: str) -> str:
    """What stands under a heading of the page."""
    return read(PAGE).partition(f"## {heading}\n")[2].partition("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """The cells of the table in a section, without its heading."""
    lines = [line for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def sentences(cell: str) -> list[str]:
    """What stands in a cell as code."""
    return re.findall("`([^`]+)`", cell)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A computer with the dists of ``BODIES``, and two that bring one plugin."""
    site = Site(tmp_path / "site")
    for name, body in BODIES.items():
        site.dist(name, name, HEAD + body)
    for name in ("one", "two"):
        site.dist(name, "weather")
    (tmp_path / "work").mkdir()
    return Machine(tmp_path / "home", tmp_path / "work", {"PYTHONPATH": str(site.path)})


@pytest.mark.slow
def test_plugin_conflict_messages_match_the_page(machine: Machine) -> None:
    machine.config(CONFIG)
    listed = machine.run("plugins", "list", "--json")
    assert listed.code == 0, listed.err
    reasons = {row["name"]: (row["state"], row["reason"]) for row in listed.json}
    assert [what for what, _ in rows("Conflicts")] == list(CASES)
    for what, sentence in rows("Conflicts"):
        state, reason = reasons[CASES[what]]
        assert state in ("failed", "missing")
        assert not (problem := output_difference(reason, sentence.strip("`"))), f"{what}: {problem}"
    assert reasons["alpha"] == ("on", "")


class Chat:
    """``hookline chat`` in a pipe: a line in, its answer out."""

    def __init__(self, machine: Machine) -> None:
        script = machine.script({"text": "hello", "repeat": True})
        self._process = machine.start("chat", "--model", script, stdin=subprocess.PIPE)

    def say(self, text: str) -> None:
        """Say something and wait for the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{text}\n".encode())
        self._process.stdin.flush()
        while (line := self._process.stdout.readline()).strip() != b"hello":
            assert line, "the chat has ended"

    def end(self) -> None:
        """Say nothing more."""
        assert Machine.wait(self._process).code == 0


@pytest.mark.slow
def test_messages_of_a_running_process_match_the_page(machine: Machine) -> None:
    changes = [
        "plugins: {alpha: true, demo: false}\n",
        "plugins: {alpha: true, demo: false, beta: true}\n",
        "plugins: {alpha: true, demo: false, beta: true}\nmax_iterations: 7\n",
        "plugins: [\n",
    ]
    machine.config("plugins: {alpha: true}\n")
    chat = Chat(machine)
    chat.say("first")
    for change in changes:
        machine.config(change)
        chat.say("next")
    chat.end()
    told = list(_told((machine.home / "logs" / "hookline.log").read_text("utf-8")))
    assert len(told) == len(rows("While Hookline runs"))
    for sentence, (what, _, cell) in zip(told, rows("While Hookline runs"), strict=True):
        shown = sentences(cell)[-1].replace("plugins.NAME", "plugins.beta")
        shown = shown.replace("KEY", "max_iterations").replace("NAME", "demo")
        assert not (problem := output_difference(sentence, f"…{shown}")), f"{what}: {problem}"


def _told(text: str) -> Iterator[str]:
    """Each sentence about the config in a log, on one line."""
    flat = " ".join(" ".join(text.partition("hookline.config:")[1:]).split())
    yield from re.findall(
        r"(?:Plugin demo|\S+config\.yaml).*?(?:turns it off\.|apply \S+\.|force\.)", flat
    )


class Late(Plugin):
    """Comes when the session is under way."""

    @hookimpl
    def system_prompt(self, ctx: Context, session: Session) -> Section:
        return Section("guidance", "Be late.")

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        ctx.notify("late")

    @tool(read_only=True)
    def later(self) -> str:
        """Wait."""
        return "now"


def test_enabled_plugin_is_used_from_the_next_session(harness: MakeHarness) -> None:
    before = harness(model=["one"])
    before.send("hello")
    before.close()
    h = harness(Late, home=before.home, model=["two", "three"])
    assert [notice.text for notice in h.send("hello").notices] == ["late"]
    h.send("hello", session="next")
    old, new = h.model.requests
    assert ("Be late." in old.system, bool(old.tools)) == (False, False)
    assert ("Be late." in new.system, bool(new.tools)) == (True, True)


def test_message_of_a_removed_tool_matches_the_page(harness: MakeHarness) -> None:
    before = harness(Late, model=["one"])
    before.send("hello")
    before.close()
    h = harness(Late, config={"late": False}, home=before.home, model=[calls("later"), "two"])
    (result,) = h.send("hello").tool_calls
    shown = sentences(section("Running sessions"))[-1]
    assert result.text == shown.replace("NAME", "later")
