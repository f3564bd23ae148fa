"""Plugins that are enabled and disabled while a gateway runs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from meta.tree import ROOT
from support.machine import Machine
from support.site_packages import Site

pytestmark = pytest.mark.slow
PATIENCE = 60.0
"""Seconds until an answer counts as lost."""
TEMPLATES = ROOT / "plugins/operations/configure/src/hookline_scaffold/templates"
CHANNEL = (TEMPLATES / "channel/plugin.py.tmpl").read_text("utf-8").replace("%%{class}", "One")
MINE = """
from hookline_hookspecs import ContextBlock, Plugin, command, hookimpl

class One(Plugin):
    ready = False

    @hookimpl
    async def setup(self, host):
        self.ready = await host.storage.kv.get("none", True)

    @hookimpl
    def pre_prompt(self, ctx, turn):
        return ContextBlock("mine", f"ready: {self.ready}")

    @command("/mine", audience="everyone")
    def mine(self, ctx, args):
        "Say it."
        return "here"
"""
MODEL = """
steps:
  - {when: "<mine>ready: True</mine>[^<]*</context>$", text: with the plugin, repeat: true}
  - {when: ".", text: without it, repeat: true}
"""


class LetterGateway:
    """A real gateway that answers letters in a folder."""

    def __init__(self, machine: Machine, site: Site) -> None:
        self.machine = machine
        self.folder = machine.home / "letters"
        site.dist("letters", "letters", CHANNEL.replace("%%{name}", "letters"))
        machine.home.mkdir(mode=0o700, exist_ok=True)
        model = machine.home / "model.yaml"
        model.write_text(MODEL)
        (machine.home / "config.yaml").write_text(
            f"model: scripted/{model}\n"
            "plugins:\n"
            "  access: {allow: ['letters:writer']}\n"
            f"  letters: {{path: {self.folder}, every: 0.05}}\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hookline", "gateway"],
            env=machine.environment(),
            cwd=machine.workspace,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        assert any("ready" in line for line in self.process.stderr)

    def ask(self, name: str, text: str = "hello") -> str:
        """Write a letter and return its answer."""
        draft = self.folder / name
        draft.write_text(text)
        draft.rename(self.folder / "in" / name)
        return self._read(self.folder / "out" / name)

    def close(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.communicate()

    @staticmethod
    def _read(answer: Path) -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if answer.exists() and (text := answer.read_text()):
                return text
            time.sleep(0.05)
        raise AssertionError(f"{answer.name} was not answered")


@pytest.fixture
def gateway(machine: Machine, site: Site) -> Iterator[LetterGateway]:
    """A gateway that is ready."""
    gateway = LetterGateway(machine, site)
    yield gateway
    gateway.close()


def test_gateway_takes_an_enabled_plugin_at_the_next_message(
    gateway: LetterGateway, site: Site
) -> None:
    assert gateway.ask("1") == "without it"
    site.dist("mine", "mine", MINE)
    enabled = gateway.machine.run("plugins", "enable", "mine").out
    assert f"The gateway (process {gateway.process.pid}) takes mine at its next message." in enabled
    assert gateway.ask("2") == "with the plugin"
    assert gateway.ask("3", "/mine") == "here"
    gateway.machine.run("plugins", "disable", "mine")
    assert gateway.ask("4") == "without it"
    gateway.machine.run("plugins", "enable", "mine")
    assert gateway.ask("5") == "with the plugin"


def test_gateway_needs_a_restart_for_a_channel(gateway: LetterGateway, site: Site) -> None:
    site.dist("parcels", "parcels", CHANNEL.replace("%%{name}", "parcels"))
    enabled = gateway.machine.run("plugins", "enable", "parcels").out
    assert f"(process {gateway.process.pid}) runs without parcels. Restart it" in enabled
    assert gateway.ask("1") == "without it"


def test_plugin_that_fails_to_start_leaves_the_gateway_running(
    gateway: LetterGateway, site: Site
) -> None:
    broken = MINE.replace("self.ready = await", "raise RuntimeError('no disk'); await")
    site.dist("mine", "mine", broken)
    gateway.machine.run("plugins", "enable", "mine")
    assert gateway.ask("1") == "without it"
    assert "Plugin mine could not be switched on: setup: RuntimeError: no disk" in (
        gateway.machine.run("logs").out
    )
