"""Imports MCP servers, profiles and keys, by running commands before the runtime is opened.

``hookline config`` changes ``config.yaml`` and keeps its comments. A profile is a home of its own,
which gets its own ``hookline migrate``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hookline_hookspecs import Configuration, HooklineError, Host
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from .documents import write_new

COMMAND_KINDS = frozenset({"server", "profile", "key"})
COMPARED_SETTINGS = ("command", "args", "url", "auth")
"""Settings of a server that are compared to see whether a person changed it."""
_PLAIN = re.compile(r"[A-Za-z0-9_./:+=@,~%-]+")


class CommandImporter:
    """Imports items of :data:`COMMAND_KINDS`, previews and undoes that.

    Args:
        host: the plugin's host; its storage is not used.
        secrets: also import keys.
    """

    def __init__(self, host: Host, *, secrets: bool) -> None:
        self._host = host
        self._home = host.home
        self._secrets = secrets

    def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do."""
        return self._method(item.kind)(item, again=False, write=False)

    def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Import the item. Raises ``HooklineError``."""
        return self._method(item.kind)(item, again=again, write=True)

    def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Undo the import. Raises ``HooklineError``."""
        undo: Mapping[str, Callable[[Receipt], Outcome]] = {
            "server": self._undo_server,
            "profile": self._undo_profile,
            "key": self._undo_key,
        }
        return undo[kind](receipt)

    def _method(self, kind: str) -> Callable[..., Outcome]:
        return {
            "server": self._import_server,
            "profile": self._import_profile,
            "key": self._import_key,
        }[kind]

    def _servers(self) -> Mapping[str, Any]:
        plugins = self._host.services[Configuration].effective().get("plugins", {})
        settings = plugins.get("mcp")
        return (settings.get("servers") or {}) if isinstance(settings, dict) else {}

    def _import_server(self, item: Item, *, again: bool, write: bool) -> Outcome:
        name = item.data["name"]
        settings = item.data["settings"]
        target = f"config.yaml: plugins.mcp.servers.{name}, not approved"
        if not _installed("hookline-mcp"):
            return Outcome("blocked", target, "plugin mcp is missing: install hookline-mcp")
        receipt = {"name": name, "settings": {key: settings.get(key) for key in COMPARED_SETTINGS}}
        there = self._servers().get(name)
        if there is not None:
            ours = _same(there, settings)
            state: State = "conflict"
            if ours:
                state = "migrated" if again else "skipped"
            reason = "" if state == "migrated" else "a server of that name already exists"
            return Outcome(state, target, reason, receipt)
        reason = self._missing_secrets(item.data["secrets"])
        if not write:
            return Outcome("planned", target, reason)
        for variable, value in item.data["secrets"].items() if self._secrets else ():
            self._write_key(variable, value)
        words = json.dumps(settings, ensure_ascii=False)
        run_hookline(self._home, "config", "set", "--", f"plugins.mcp.servers.{name}", words)
        return Outcome("migrated", target, reason, receipt)

    def _missing_secrets(self, secrets: Mapping[str, str]) -> str:
        if not secrets or self._secrets:
            return ""
        return f"add {', '.join(secrets)} to .env; they are imported only with --secrets"

    def _undo_server(self, receipt: Receipt) -> Outcome:
        name = receipt["name"]
        target = f"config.yaml: plugins.mcp.servers.{name}"
        there = self._servers().get(name)
        if there is None:
            return Outcome("planned", target)
        if not _same(there, receipt["settings"]):
            return Outcome("migrated", target, "it was changed since")
        run_hookline(self._home, "config", "unset", "--", f"plugins.mcp.servers.{name}")
        return Outcome("planned", target)

    def _import_profile(self, item: Item, *, again: bool, write: bool) -> Outcome:
        name = item.data["name"]
        folder = item.data["folder"]
        target = f"profile {name}"
        if not _installed("hookline-configure"):
            return Outcome(
                "blocked", target, "plugin profiles is missing: install hookline-configure"
            )
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", name) or name == "default":
            reason = "a profile's name may have up to 32 lower-case letters, digits, - and _"
            return Outcome("blocked", target, reason)
        home = self._home / "profiles" / name
        if home.exists() and not again:
            return Outcome("conflict", target, f"profile {name} already exists")
        if not write:
            return Outcome("planned", target, f"for details: hookline -p {name} migrate plan")
        if not home.exists():
            run_hookline(self._home, "profile", "create", "--", name)
        words = ["migrate", "apply", item.data["program"], "--from", folder, "--json"]
        words += ["--no-backup", *(["--secrets"] if self._secrets else [])]
        rows = json.loads(run_hookline(home, *words, codes=(0, 1)))
        states: dict[str, int] = {}
        for row in rows:
            states[row["state"]] = states.get(row["state"], 0) + 1
        counts = ", ".join(f"{count} {state}" for state, count in states.items())
        receipt = {"name": name, "program": item.data["program"]}
        return Outcome("migrated", target, counts or "it was empty", receipt)

    def _undo_profile(self, receipt: Receipt) -> Outcome:
        name = receipt["name"]
        home = self._home / "profiles" / name
        target = f"profile {name}"
        if not home.exists():
            return Outcome("planned", target)
        words = ("migrate", "undo", receipt["program"], "--json")
        kept = [row for row in json.loads(run_hookline(home, *words)) if row["state"] != "planned"]
        if kept:
            return Outcome("migrated", target, f"{len(kept)} items in it were changed since")
        run_hookline(self._home, "profile", "delete", "--yes", "--", name)
        return Outcome("planned", target, "its folder is in profiles/.deleted")

    def _import_key(self, item: Item, *, again: bool, write: bool) -> Outcome:
        name = item.data["name"]
        value = item.data["value"]
        target = f".env: {name}"
        receipt = {"name": name, "sha256": _sha256(value)}
        there = self._keys().get(name)
        if there is not None:
            ours = again and there == value
            reason = "" if ours else "already set here"
            return Outcome("migrated" if ours else "skipped", target, reason, receipt)
        if not _PLAIN.fullmatch(value) and ("'" in value or "\n" in value):
            return Outcome(
                "blocked", target, "its value cannot be written to .env; copy it yourself"
            )
        if write:
            self._write_key(name, value)
        return Outcome("migrated" if write else "planned", target, receipt=receipt)

    def _keys(self) -> dict[str, str]:
        from .sources.base import variables

        path = self._home / ".env"
        return variables(path.read_text("utf-8")) if path.exists() else {}

    def _write_key(self, name: str, value: str) -> None:
        if name in self._keys() or not value:
            return
        path = self._home / ".env"
        text = path.read_text("utf-8") if path.exists() else ""
        shown = value if _PLAIN.fullmatch(value) else f"'{value}'"
        write_new(
            path, f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{name}={shown}\n"
        )

    def _undo_key(self, receipt: Receipt) -> Outcome:
        name = receipt["name"]
        target = f".env: {name}"
        there = self._keys().get(name)
        if there is None:
            return Outcome("planned", target)
        if _sha256(there) != receipt["sha256"]:
            return Outcome("migrated", target, "it was changed since")
        path = self._home / ".env"
        lines = path.read_text("utf-8").splitlines(keepends=True)
        pattern = re.compile(rf"\s*(export\s+)?{re.escape(name)}\s*=")
        write_new(path, "".join(line for line in lines if not pattern.match(line)))
        return Outcome("planned", target)


def run_hookline(home: Path, *words: str, codes: Sequence[int] = (0,)) -> str:
    """Run ``hookline WORDS`` on a home and return what it prints. Raises ``HooklineError``."""
    env = os.environ | {"HOOKLINE_HOME": str(home)}
    env.pop("HOOKLINE_PROFILE", None)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "hookline", *words],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode not in codes:
        error = done.stderr.strip().removeprefix("hookline: ")
        raise HooklineError(f"`hookline {words[0]} {words[1]}` failed: {error}")
    return done.stdout


def _same(there: Any, settings: Mapping[str, Any]) -> bool:
    if not isinstance(there, dict):
        return False
    return all(_bare(there.get(key)) == _bare(settings.get(key)) for key in COMPARED_SETTINGS)


def _bare(value: Any) -> Any:
    """Return a setting as config returns it: None if empty, ``${`` without its escape."""
    if isinstance(value, list):
        return [_bare(one) for one in value] or None
    return value.replace("$${", "${") or None if isinstance(value, str) else value or None


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
