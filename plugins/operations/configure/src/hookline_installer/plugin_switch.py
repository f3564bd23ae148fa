"""Switches plugins in ``config.yaml`` and asks how they fare, through ``hookline`` itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .confirmation import say, warn
from .errors import Stop


@dataclass(frozen=True)
class State:
    """How a plugin fares: ``on off missing failed``, and why."""

    state: str
    reason: str


@dataclass(frozen=True)
class Switch:
    """The switches of one home."""

    home: Path

    def on(self, plugin: str) -> None:
        """Switch on. Raises Stop with the reason."""
        self._switch("enable", plugin)

    def off(self, plugin: str) -> None:
        """Switch off; settings stay. Raises Stop with the reason."""
        self._switch("disable", plugin)

    def states(self) -> dict[str, State]:
        """The state of every plugin; empty if ``hookline plugins list`` cannot tell."""
        done = self._hookline("plugins", "list", "--json")
        try:
            return {
                row["name"]: State(row["state"], row["reason"]) for row in json.loads(done.stdout)
            }
        except (ValueError, KeyError, TypeError):
            return {}

    def report(self, plugins: list[str]) -> None:
        """Say of each plugin whether it is on; a warning where it is not, with the reason."""
        states = self.states()
        if not states:
            warn("nothing says whether it is on: `hookline plugins list` comes with plugin inspect")
            return
        for plugin in plugins:
            found = states.get(plugin, State("off", "hookline plugins list does not show it"))
            if found.state == "on":
                say(f"Plugin {plugin} is on.")
            elif found.state == "off":
                warn(f"plugin {plugin} is off; `hookline plugins enable {plugin}` switches it on")
            else:
                warn(f"plugin {plugin} is installed but does not start: {found.reason}")

    def _switch(self, verb: str, plugin: str) -> None:
        done = self._hookline("plugins", verb, "--", plugin)
        if done.returncode:
            reason = done.stderr.strip().removeprefix("hookline: ") or f"exit {done.returncode}"
            raise Stop(f"`hookline plugins {verb} {plugin}` failed: {reason}")

    def _hookline(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "hookline", *words],
            env=os.environ | {"HOOKLINE_HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
