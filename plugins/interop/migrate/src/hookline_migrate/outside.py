"""What is changed through commands, before a runtime is open: MCP servers, profiles and keys.

``config.yaml`` is changed by ``hookline config``, which keeps its comments; a profile is a home of
its own, into which ``hookline migrate`` moves what belongs there.
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

KINDS = frozenset({"server", "profile", "key"})
COMPARED = ("command", "args", "url", "auth")
"""Settings of a server that show whether a person has changed it."""
_PLAIN = re.compile(r"[A-Za-z0-9_./:+=@,~%-]+")


class Outside:
    """Looks at, takes and gives back items of :data:`KINDS`.

    Args:
        host: the plugin's host, of which no storage is used.
        secrets: whether keys are moved.
    """

    def __init__(self, host: Host, *, secrets: bool) -> None:
        self._host = host
        self._home = host.home
        self._secrets = secrets

    def look(self, item: Item) -> Outcome:
        """What :meth:`take` would do."""
        return self._doing(item.kind)(item, again=False, write=False)

    def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Take the item in. Raises ``HooklineError``."""
        return self._doing(item.kind)(item, again=again, write=True)

    def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Undo it. Raises ``HooklineError``."""
        undo: Mapping[str, Callable[[Receipt], Outcome]] = {
            "server": self._server_back,
            "profile": self._profile_back,
            "key": self._key_back,
        }
        return undo[kind](receipt)

    def _doing(self, kind: str) -> Callable[..., Outcome]:
        return {"server": self._server, "profile": self._profile, "key": self._key}[kind]

    # MCP servers

    def _servers(self) -> Mapping[str, Any]:
        plugins = self._host.services[Configuration].effective().get("plugins", {})
        settings = plugins.get("mcp")
        return (settings.get("servers") or {}) if isinstance(settings, dict) else {}

    def _server(self, item: Item, *, again: bool, write: bool) -> Outcome:
        name, settings = item.data["name"], item.data["settings"]
        target = f"config.yaml: plugins.mcp.servers.{name}, not approved"
        if not _installed("hookline-mcp"):
            return Outcome("blocked", target, "it needs the plugin mcp: install hookline-mcp")
        receipt = {"name": name, "settings": {key: settings.get(key) for key in COMPARED}}
        there = self._servers().get(name)
        if there is not None:
            ours = _same(there, settings)
            state: State = "migrated" if ours and again else "skipped" if ours else "conflict"
            told = "" if state == "migrated" else "there is a server of that name already"
            return Outcome(state, target, told, receipt)
        reason = self._unset(item.data["secrets"])
        if not write:
            return Outcome("planned", target, reason)
        for variable, value in item.data["secrets"].items() if self._secrets else ():
            self._write_key(variable, value)
        words = json.dumps(settings, ensure_ascii=False)
        hookline(self._home, "config", "set", "--", f"plugins.mcp.servers.{name}", words)
        return Outcome("migrated", target, reason, receipt)

    def _unset(self, secrets: Mapping[str, str]) -> str:
        if not secrets or self._secrets:
            return ""
        return f"put {', '.join(secrets)} into .env; without --secrets they were left"

    def _server_back(self, receipt: Receipt) -> Outcome:
        name = receipt["name"]
        target = f"config.yaml: plugins.mcp.servers.{name}"
        there = self._servers().get(name)
        if there is None:
            return Outcome("planned", target)
        if not _same(there, receipt["settings"]):
            return Outcome("migrated", target, "it was changed since")
        hookline(self._home, "config", "unset", "--", f"plugins.mcp.servers.{name}")
        return Outcome("planned", target)

    # Profiles

    def _profile(self, item: Item, *, again: bool, write: bool) -> Outcome:
        name, folder = item.data["name"], item.data["folder"]
        target = f"profile {name}"
        if not _installed("hookline-configure"):
            return Outcome("blocked", target, "it needs the plugin profiles: hookline-configure")
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", name) or name == "default":
            told = "a profile's name has up to 32 small letters, digits, - and _"
            return Outcome("blocked", target, told)
        home = self._home / "profiles" / name
        if home.exists() and not again:
            return Outcome("conflict", target, f"there is a profile {name} already")
        if not write:
            return Outcome("planned", target, f"then hookline -p {name} migrate plan shows more")
        if not home.exists():
            hookline(self._home, "profile", "create", "--", name)
        words = ["migrate", "apply", item.data["program"], "--from", folder, "--json"]
        words += ["--no-backup", *(["--secrets"] if self._secrets else [])]
        rows = json.loads(hookline(home, *words, codes=(0, 1)))
        states: dict[str, int] = {}
        for row in rows:
            states[row["state"]] = states.get(row["state"], 0) + 1
        told = ", ".join(f"{count} {state}" for state, count in states.items())
        receipt = {"name": name, "program": item.data["program"]}
        return Outcome("migrated", target, told or "it was empty", receipt)

    def _profile_back(self, receipt: Receipt) -> Outcome:
        name = receipt["name"]
        home, target = self._home / "profiles" / name, f"profile {name}"
        if not home.exists():
            return Outcome("planned", target)
        words = ("migrate", "undo", receipt["program"], "--json")
        kept = [row for row in json.loads(hookline(home, *words)) if row["state"] != "planned"]
        if kept:
            return Outcome("migrated", target, f"{len(kept)} things in it were changed since")
        hookline(self._home, "profile", "delete", "--yes", "--", name)
        return Outcome("planned", target, "its folder is in profiles/.deleted")

    # Keys

    def _key(self, item: Item, *, again: bool, write: bool) -> Outcome:
        name, value = item.data["name"], item.data["value"]
        target = f".env: {name}"
        receipt = {"name": name, "sha256": _sha256(value)}
        there = self._keys().get(name)
        if there is not None:
            ours = again and there == value
            told = "" if ours else "it is set here already"
            return Outcome("migrated" if ours else "skipped", target, told, receipt)
        if not _PLAIN.fullmatch(value) and ("'" in value or "\n" in value):
            return Outcome("blocked", target, "its value cannot be written in a .env; copy it")
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

    def _key_back(self, receipt: Receipt) -> Outcome:
        name = receipt["name"]
        target = f".env: {name}"
        there = self._keys().get(name)
        if there is None:
            return Outcome("planned", target)
        if _sha256(there) != receipt["sha256"]:
            return Outcome("migrated", target, "it was changed since")
        path = self._home / ".env"
        lines = path.read_text("utf-8").splitlines(keepends=True)
        is_it = re.compile(rf"\s*(export\s+)?{re.escape(name)}\s*=")
        write_new(path, "".join(line for line in lines if not is_it.match(line)))
        return Outcome("planned", target)


def hookline(home: Path, *words: str, codes: Sequence[int] = (0,)) -> str:
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
        told = done.stderr.strip().removeprefix("hookline: ")
        raise HooklineError(f"`hookline {words[0]} {words[1]}` failed: {told}")
    return done.stdout


def _same(there: Any, settings: Mapping[str, Any]) -> bool:
    if not isinstance(there, dict):
        return False
    return all(_bare(there.get(key)) == _bare(settings.get(key)) for key in COMPARED)


def _bare(value: Any) -> Any:
    """A setting as config gives it: nothing for empty ones, ``${`` without its escape."""
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
