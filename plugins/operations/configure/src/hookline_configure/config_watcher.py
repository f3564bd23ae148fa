"""Notices changes of config.yaml while a process runs.

A plugin that was turned off stops at the next message, because an emergency cannot wait for a
restart, and one that was turned on is loaded. All other changes need a restart; a notice names
them.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import monotonic, time
from typing import Any

from hookline_hookspecs import CommandError, Configuration, Context, HooklineError, Host
from hookline_hookspecs.masking import MASK

from .config_file import ConfigFile

log = logging.getLogger("hookline.config")

SWITCH_TIMEOUT = 8.0
"""Seconds a message waits for plugins to stop or start; the deadline of ``on_message`` is ten."""


MODEL_KEYS = ("model", "providers")
"""The keys that ``Configuration.reload_models`` applies without a restart."""
SETTLE_SECONDS, MAX_SETTLE_SECONDS = 1.0, 5.0
"""Seconds without a change after which a file counts as written, and how long a message waits."""


@dataclass(frozen=True, slots=True)
class ConfigSnapshot:
    """One version of config.yaml: effective values, with secrets masked, and written values."""

    values: dict[str, Any]
    written: dict[str, Any]

    @property
    def plugins(self) -> dict[str, Any]:
        """Settings, true or false for each plugin, in call order."""
        found: dict[str, Any] = self.values["plugins"]
        return found


@dataclass(frozen=True, slots=True)
class _Change:
    """A version of config.yaml that can be read, and the problems of its plugins."""

    text: str
    snapshot: ConfigSnapshot
    problems: list[str]


class ConfigWatcher:
    """Compares config.yaml with the version read last."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._core = host.services[Configuration]
        self._file = ConfigFile(host.home, host.services[Configuration])
        self._stamp = self._stat()
        self._text = self._file.text()
        self._first: ConfigSnapshot | None = None
        """The version that the process started with; set at the first change."""

    async def check(self, ctx: Context) -> None:
        """Stop and start the plugins that the file now turns off and on; announce other changes.

        A file that is empty, cannot be read or lacks plugins may just be written: it counts once it
        has not changed for a moment. An empty one never counts.
        """
        stamp = self._stat()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        before = self._read(self._text)
        change = self._change(before)
        if isinstance(change, str) or _lacks_plugins(before, change):
            await self._settle()
            change = self._change(before)
        if isinstance(change, str):
            self._notify(ctx, f"{change} The previous version of {self._file.path} stays in force.")
            return
        self._text, now = change.text, change.snapshot
        self._first = self._first or before
        for name in await self._switched_off(now, change.problems):
            self._notify(ctx, f"Plugin {name} is off now: {self._file.path} turns it off.")
        taken = await self._switched_on(before, now)
        for name, reason in taken.items():
            what = f"could not be switched on: {reason}" if reason else "is on now"
            self._notify(ctx, f"Plugin {name} {what}.")
        applied = _keys(taken)
        if change.text == self._core.models_text:
            applied |= set(MODEL_KEYS)
        changed = [key for key in self._changed(before, now) if key not in applied]
        if changed:
            self._notify(
                ctx, f"{self._file.path} has changed; restart to apply {', '.join(changed)}."
            )

    def _change(self, before: ConfigSnapshot) -> _Change | str:
        """Return what the file says now, or why it does not count."""
        try:
            text = self._file.text()
            now = self._read(text)
            problems, _ = self._core.check(text)
        except HooklineError as error:
            return str(error)
        except CommandError as error:
            return error.text
        if before.written and not now.written:
            return f"{self._file.path}: the file is empty."
        return _Change(text, now, problems)

    async def _settle(self) -> None:
        """Wait until the file has not changed for a moment."""
        until, quiet = monotonic() + MAX_SETTLE_SECONDS, 0.0
        if self._stamp is not None:
            quiet = max(0.0, time() - self._stamp[0] / 1e9)
        while quiet < SETTLE_SECONDS and monotonic() < until:
            await asyncio.sleep(SETTLE_SECONDS / 10)
            stamp = self._stat()
            quiet = quiet + SETTLE_SECONDS / 10 if stamp == self._stamp else 0.0
            self._stamp = stamp

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self, text: str) -> ConfigSnapshot:
        return ConfigSnapshot(self._core.effective(text), self._core.parse(text))

    async def _switched_off(self, now: ConfigSnapshot, problems: list[str]) -> list[str]:
        """Stop the plugins that the file turns off; an error in their settings does not."""
        started = self._first.plugins if self._first is not None else {}
        gone = [name for name in {**started, **now.plugins} if not now.plugins.get(name)]
        off = [n for n in gone if not any(p.startswith(f"plugin {n} is not on:") for p in problems)]
        done: list[str] = []

        async def switch() -> None:
            for name in off:
                if await self._core.switch_off(name):
                    done.append(name)

        if off:
            await asyncio.wait([self._host.spawn(switch(), "switch off")], timeout=SWITCH_TIMEOUT)
        return done

    async def _switched_on(self, before: ConfigSnapshot, now: ConfigSnapshot) -> dict[str, str]:
        """Start the plugins that the file turns on. Those that need a restart are left out; the
        others have the reason if they are not on."""
        done: dict[str, str] = {}
        new = [name for name, on in now.plugins.items() if on and not before.plugins.get(name)]

        async def switch() -> None:
            for name in new:
                reason = await self._core.switch_on(name)
                if reason is not None:
                    done[name] = reason

        if new:
            await asyncio.wait([self._host.spawn(switch(), "switch on")], timeout=SWITCH_TIMEOUT)
        return done

    def _changed(self, before: ConfigSnapshot, now: ConfigSnapshot) -> Iterator[str]:
        """The changed keys that need a restart, except those set on the command line."""
        for key, value in now.values.items():
            if key != "plugins" and not self._is_overridden(key):
                written = before.written.get(key), now.written.get(key)
                if _differ(before.values[key], value, *written):
                    yield key
        sections = [config.written.get("plugins") or {} for config in (before, now)]
        for name, value in now.plugins.items():
            written = sections[0].get(name), sections[1].get(name)
            if value and _differ(before.plugins.get(name, False), value, *written):
                yield f"plugins.{name}"

    def _is_overridden(self, key: str) -> bool:
        started = self._first.values[key] if self._first is not None else None
        in_use = getattr(self._host.config, key)
        return isinstance(started, str | int | None) and in_use != started

    def _notify(self, ctx: Context, text: str) -> None:
        log.warning(text)
        ctx.notify(text)


def _keys(plugins: Iterable[str]) -> set[str]:
    return {f"plugins.{name}" for name in plugins}


def _differ(before: Any, now: Any, written_before: Any, written_now: Any) -> bool:
    """Whether a value changed; a masked one counts as changed if the written one did."""
    masked = MASK in json.dumps(now, default=str)
    return bool(before != now or (masked and written_before != written_now))


def _lacks_plugins(before: ConfigSnapshot, now: _Change) -> bool:
    """Whether plugins are off because the file no longer names them."""
    named = now.snapshot.written.get("plugins")
    names = named if isinstance(named, dict) else {}
    gone = (
        name for name, on in before.plugins.items() if on and not now.snapshot.plugins.get(name)
    )
    return any(name not in names for name in gone)
