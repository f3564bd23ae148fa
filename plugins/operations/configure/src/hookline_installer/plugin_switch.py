"""Turns plugins on and off and reads their states, by running ``hookline plugins``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .confirmation import say, warn
from .errors import InstallerError


@dataclass(frozen=True)
class PluginState:
    """A plugin's state, ``on off missing failed``, and the reason."""

    state: str
    reason: str


@dataclass(frozen=True)
class PluginSwitch:
    """Turns plugins of one home on and off."""

    home: Path

    def on(self, plugin: str) -> None:
        """Turn a plugin on. Raises InstallerError with the reason."""
        self._run_verb("enable", plugin)

    def off(self, plugin: str) -> None:
        """Turn a plugin off and keep its settings. Raises InstallerError with the reason."""
        self._run_verb("disable", plugin)

    def states(self) -> dict[str, PluginState]:
        """The state of every plugin; empty if ``hookline plugins list`` fails."""
        done = self._hookline("plugins", "list", "--json")
        try:
            return {
                row["name"]: PluginState(row["state"], row["reason"])
                for row in json.loads(done.stdout)
            }
        except (ValueError, KeyError, TypeError):
            return {}

    def report(self, plugins: list[str]) -> None:
        """Print each plugin's state; a warning with the reason if it is not on."""
        states = self.states()
        if not states:
            warn("the state is unknown: `hookline plugins list` needs the plugin inspect")
            return
        for plugin in plugins:
            found = states.get(plugin, PluginState("off", "hookline plugins list does not show it"))
            if found.state == "on":
                say(f"Plugin {plugin} is on.")
            elif found.state == "off":
                warn(f"plugin {plugin} is off. Run `hookline plugins enable {plugin}`.")
            else:
                warn(f"plugin {plugin} is installed but does not start: {found.reason}")

    def _run_verb(self, verb: str, plugin: str) -> None:
        done = self._hookline("plugins", verb, "--", plugin)
        if done.returncode:
            reason = done.stderr.strip().removeprefix("hookline: ") or f"exit {done.returncode}"
            raise InstallerError(f"`hookline plugins {verb} {plugin}` failed: {reason}")

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
