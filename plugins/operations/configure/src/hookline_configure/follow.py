"""Follows changes of config.yaml while a process runs.

A plugin that was switched off stops at the next message, since an emergency must not wait. The
person is told of all other changes, which need a restart.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import CommandError, Configuration, Context, HooklineError, Host

from .file import ConfigFile

log = logging.getLogger("hookline.config")
MASK = "********"
"""Stands in the effective config where a secret does."""
WAIT = 8.0
"""Seconds a message waits for the plugins that are switched off; ``on_message`` has ten."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text of config.yaml: what is in effect by it, secrets masked, and what is written."""

    values: dict[str, Any]
    written: dict[str, Any]

    @property
    def plugins(self) -> dict[str, Any]:
        """The plugins in call order: their settings, true or false."""
        found: dict[str, Any] = self.values["plugins"]
        return found


class Follower:
    """Compares the file with what was last read of it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._core = host.services[Configuration]
        self._file = ConfigFile(host.home, host.services[Configuration])
        self._stamp = self._stat()
        self._text = self._file.text()
        self._first: Reading | None = None
        """What the process started with, once it is needed."""

    async def check(self, ctx: Context) -> None:
        """Switch off the plugins that the file now switches off; tell of other changes."""
        stamp = self._stat()
        if stamp == self._stamp:
            return
        self._stamp, path = stamp, self._file.path
        try:
            text = self._file.text()
            before, now = self._read(self._text), self._read(text)
            problems, _ = self._core.check(text)
        except (HooklineError, CommandError) as error:
            sentence = error.text if isinstance(error, CommandError) else error
            self._tell(ctx, f"{sentence} What was read of {path} before stays in force.")
            return
        self._text, self._first = text, self._first or before
        for name in await self._switched_off(now, problems):
            self._tell(ctx, f"Plugin {name} is off now, as {path} says.")
        changed = list(self._changed(before, now))
        if changed:
            self._tell(ctx, f"{path} has changed; restart to apply {', '.join(changed)}.")

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self, text: str) -> Reading:
        return Reading(self._core.effective(text), self._core.parse(text))

    async def _switched_off(self, now: Reading, problems: list[str]) -> list[str]:
        """Stop what the file no longer has on; not what it keeps off by a mistake."""
        started = self._first.plugins if self._first is not None else {}
        gone = [name for name in {**started, **now.plugins} if not now.plugins.get(name)]
        off = [n for n in gone if not any(p.startswith(f"plugin {n} is not on:") for p in problems)]
        done: list[str] = []

        async def switch() -> None:
            for name in off:
                if await self._core.switch_off(name):
                    done.append(name)

        if off:
            await asyncio.wait([self._host.spawn(switch(), "switch off")], timeout=WAIT)
        return done

    def _changed(self, before: Reading, now: Reading) -> Iterator[str]:
        """The keys that need a restart; not those which the command line has set."""
        for key, value in now.values.items():
            if key != "plugins" and not self._is_overridden(key):
                written = before.written.get(key), now.written.get(key)
                if _differ(before.values[key], value, *written):
                    yield key
        sections = [one.written.get("plugins") or {} for one in (before, now)]
        for name, value in now.plugins.items():
            written = sections[0].get(name), sections[1].get(name)
            if value and _differ(before.plugins.get(name, False), value, *written):
                yield f"plugins.{name}"

    def _is_overridden(self, key: str) -> bool:
        started = self._first.values[key] if self._first is not None else None
        here = getattr(self._host.config, key)
        return isinstance(started, str | int | None) and here != started

    def _tell(self, ctx: Context, text: str) -> None:
        log.warning(text)
        ctx.notify(text)


def _differ(before: Any, now: Any, written_before: Any, written_now: Any) -> bool:
    """Whether a value differs; where it is masked, whether what is written does."""
    masked = MASK in json.dumps(now, default=str)
    return bool(before != now or (masked and written_before != written_now))
