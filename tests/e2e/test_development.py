"""``hookline dev``: a chat with a plugin whose code is reloaded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.machine import Machine
from support.terminal import TerminalScreen

GREETER = '''
from hookline_hookspecs import Plugin, command
from hookline_hookspecs.plugin import NoConfig

class Greeter(Plugin[NoConfig]):
    @command("/greet", audience="everyone")
    def greet(self, ctx, args):
        """Greet."""
        return "GREETING"
'''


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with a model."""
    (tmp_path / "work").mkdir()
    made = Machine(tmp_path / "home", tmp_path / "work")
    made.home.mkdir(mode=0o700)
    made.env["HOOKLINE_MODEL"] = made.script({"text": "Very well.", "repeat": True})
    return made


@pytest.mark.long
def test_dev_reloads_a_plugin_that_changes(machine: Machine) -> None:
    file = machine.workspace / "greeter.py"
    file.write_text(GREETER.replace("GREETING", "Good morning!"))
    program = [sys.executable, "-m", "hookline", "dev", str(file)]
    with TerminalScreen(program, env=machine.environment(), cwd=machine.workspace) as screen:
        screen.wait_for("scripted")
        screen.type("/greet\r")
        screen.wait_for("Good morning!")
        file.write_text(GREETER.replace("GREETING", "Good evening to you!"))
        screen.type("hello\r")
        screen.wait_for("greeter was reloaded")
        screen.wait_for("Very well.")
        screen.type("/greet\r")
        screen.wait_for("Good evening to you!")
        file.write_text(GREETER.replace("return", "retrun"))
        screen.type("hello again\r")
        screen.wait_for("greeter could not be reloaded")
        file.write_text(GREETER.replace("GREETING", "Good night!"))
        screen.type("and now\r")
        screen.wait_until(lambda: screen.text.count("was reloaded") == 2, "the second notice")
        screen.wait_until(lambda: screen.text.count("Very well.") == 3, "the third answer")
        screen.type("/greet\r")
        screen.wait_for("Good night!")


def test_dev_names_what_is_missing(machine: Machine, tmp_path: Path) -> None:
    done = machine.run("dev", str(tmp_path))
    assert (done.code, "has no pyproject.toml" in done.err) == (2, True)
    (tmp_path / "pyproject.toml").write_text(
        '[project.entry-points."hookline.plugins"]\nfar-away = "far_away:FarAway"\n'
    )
    done = machine.run("dev", str(tmp_path))
    assert done.code == 2
    assert "far-away is not installed. Run `hookline plugins install -e" in done.err
