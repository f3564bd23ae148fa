"""Notices a changed ``config.yaml`` in a long-running process.

A plugin that was switched off stops at the next message, since an emergency must not wait. The
operator is told of all other changes, which need a restart.
"""

from __future__ import annotations

import logging

from ..config import ConfigError, Loaded, PluginEntry, load
from ..sessions.context import TurnContext
from .loader import Plugins

log = logging.getLogger("hookline.config")


class ConfigWatch:
    """Compares the file with what was last read of it."""

    def __init__(self, loaded: Loaded, plugins: Plugins) -> None:
        self._read = loaded
        self._plugins = plugins
        self._stamp = self._stat()

    async def check(self, ctx: TurnContext) -> None:
        """Switch off the plugins that the file now switches off; tell of other changes."""
        stamp = self._stat()
        if stamp == self._stamp:
            return
        self._stamp, path = stamp, self._read.path
        try:
            now = load(path.parent, self._read.env)
        except ConfigError as error:
            self._tell(ctx, f"{error} What was read of {path} before stays in force.")
            return
        before, self._read = self._read, now
        for name, loading in self._plugins.loadings.items():
            entry = now.plugins.get(name, PluginEntry(name, enabled=False))
            stood = name in now.plugins or loading.entry.line is not None
            if loading.state == "on" and stood and not entry.enabled and not entry.error:
                await self._plugins.switch_off(name)
                self._tell(ctx, f"Plugin {name} is off now, as {path} says.")
        changed = _changed(before, now)
        if changed:
            self._tell(ctx, f"{path} has changed; restart to apply {', '.join(changed)}.")

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self._read.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _tell(self, ctx: TurnContext, text: str) -> None:
        log.warning(text)
        ctx.notify(text)


def _changed(before: Loaded, now: Loaded) -> list[str]:
    """The keys that need a restart; not those which the command line has set."""
    keys = [
        key
        for key in type(now.config).model_fields
        if getattr(before.config, key) != getattr(now.config, key) and before.lines.get((key,)) != "the command line"
    ]
    for name in {**before.plugins, **now.plugins}:
        off = PluginEntry(name, enabled=False)
        one, other = (loaded.plugins.get(name, off) for loaded in (before, now))
        settings = one.settings != other.settings or one.error != other.error
        if other.enabled and (settings or not one.enabled):
            keys.append(f"plugins.{name}")
    return keys
