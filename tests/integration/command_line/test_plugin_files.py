"""Plugins that are a single file: in the home's ``plugins`` folder, or given with ``--plugin``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.machine import Machine

HELLO = '''
from hookline_hookspecs import Plugin, command
from hookline_hookspecs.plugin import NoConfig
from pydantic import BaseModel

class HelloConfig(BaseModel):
    name: str = "world"

class Hello(Plugin[HelloConfig]):
    """Says hello."""

    @command("/hello", audience="everyone")
    def hello(self, ctx, args):
        """Say hello."""
        return f"Hello, {self.config.name}!"
'''
GUARD = """
from hookline_hookspecs import Deny, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig

class Guard(Plugin[NoConfig]):
    @hookimpl
    def pre_tool(self, ctx, call):
        return Deny("no tools")
"""


@pytest.fixture
def machine(machine: Machine) -> Machine:
    """A machine with a model."""
    machine.home.mkdir(mode=0o700)
    machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello", "repeat": True})
    return machine


def write(folder: Path, name: str, source: str) -> Path:
    folder.mkdir(exist_ok=True, mode=0o700)
    file = folder / name
    file.write_text(source)
    file.chmod(0o600)
    return file


def row(machine: Machine, name: str) -> dict[str, object]:
    listed = machine.run("plugins", "list", "--json")
    return next(one for one in listed.json if one["name"] == name)


@pytest.mark.long
def test_plugin_file_in_the_home_is_on(machine: Machine) -> None:
    write(machine.home / "plugins", "hello.py", HELLO)
    assert machine.run("run", "/hello").out == "Hello, world!\n"
    (machine.home / "config.yaml").write_text("plugins: {hello: {name: Ada}}\n")
    assert machine.run("run", "/hello").out == "Hello, Ada!\n"
    (machine.home / "config.yaml").write_text("plugins: {hello: false}\n")
    assert "Unknown command /hello" in machine.run("run", "/hello").out


@pytest.mark.long
def test_plugin_option_adds_a_file(machine: Machine, tmp_path: Path) -> None:
    file = write(tmp_path / "elsewhere", "say_hello.py", HELLO)
    assert machine.run("--plugin", str(file), "run", "/hello").out == "Hello, world!\n"
    assert "Unknown command" in machine.run("run", "/hello").out
    missing = machine.run("--plugin", str(tmp_path / "none.py"), "run", "/hello")
    assert (missing.code, "--plugin: there is no file" in missing.err) == (2, True)


@pytest.mark.long
def test_broken_plugin_file_loses_only_itself(machine: Machine) -> None:
    write(machine.home / "plugins", "broken.py", "import nothing_of_that_name\n")
    write(machine.home / "plugins", "hello.py", HELLO)
    assert machine.run("run", "/hello").out == "Hello, world!\n"
    found = row(machine, "broken")
    assert found["state"] == "failed"
    assert "No module named 'nothing_of_that_name'" in str(found["reason"])
    assert "broken.py:1" in str(found["reason"])


@pytest.mark.long
def test_broken_guard_file_stops_turns(machine: Machine) -> None:
    write(machine.home / "plugins", "no_tools.py", "import nothing_of_that_name\n" + GUARD)
    done = machine.run("run", "hi")
    assert done.code == 1
    assert "No turn can start: the guard 'no-tools'" in done.out + done.err


@pytest.mark.long
def test_plugin_file_that_others_can_write_is_refused(machine: Machine) -> None:
    write(machine.home / "plugins", "hello.py", HELLO).chmod(0o666)
    found = row(machine, "hello")
    assert found["state"] == "failed"
    assert "others can write to" in str(found["reason"])
    assert "chmod go-w" in str(found["reason"])


@pytest.mark.long
def test_plugin_file_does_not_replace_a_package(machine: Machine) -> None:
    write(machine.home / "plugins", "memory.py", HELLO)
    assert row(machine, "memory")["state"] == "on"
    assert "Unknown command" in machine.run("run", "/hello").out
    assert "memory.py is not used" in machine.run("config", "check").err


@contextmanager
def gateway_running(machine: Machine, config: str = "") -> Iterator[subprocess.Popen[str]]:
    """A gateway with a webhook, once it is ready."""
    channel = "plugins:\n  webhook: {listen: '127.0.0.1:0', secret: a-long-enough-secret}\n"
    (machine.home / "config.yaml").write_text(channel + config)
    process = subprocess.Popen(
        [sys.executable, "-m", "hookline", "gateway"],
        env=machine.environment(),
        cwd=machine.workspace,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process.stderr as lines:
        assert any("ready" in line for line in lines)
        yield process
        process.terminate()
    process.wait()


@pytest.mark.long
@pytest.mark.parametrize(("config", "is_on"), [("", False), ("  hello: true\n", True)])
def test_gateway_uses_only_named_plugin_files(machine: Machine, config: str, is_on: bool) -> None:
    source = HELLO.replace("import Plugin, command", "import Plugin, command, hookimpl") + (
        "\n    @hookimpl\n    async def teardown(self, host):\n"
        "        (host.home / 'torn-down').touch()\n"
    )
    write(machine.home / "plugins", "hello.py", source)
    with gateway_running(machine, config):
        assert (machine.home / "torn-down").exists() is not is_on


@pytest.mark.long
def test_enable_tells_that_the_gateway_runs_without_the_plugin(machine: Machine) -> None:
    with gateway_running(machine) as gateway:
        enabled = machine.run("plugins", "enable", "audit")
    notice = f"The gateway (process {gateway.pid}) runs without audit. Restart it to apply this."
    assert notice in enabled.out
    assert "runs without" not in machine.run("plugins", "enable", "backup").out
