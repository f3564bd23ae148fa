"""Shared by the commands: the home, error messages, output, opening a runtime."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.secrets import redacted

from hookline.home import environment, find_home, make_home, removed

if TYPE_CHECKING:
    from hookline.runtime import Runtime

T = TypeVar("T")
DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes (CONTRACT, Command line)."""
COLLECT_AFTER = 10_000
"""New objects after which a collection looks at them. After Python's own 700, most of what it looks
at are turns under way: with fifty of them that takes a fifth of the processor time."""

_installed: Callable[..., Any] = cache(entry_points)
"""Looks through every installed package, so once for each question."""


unshown_config_errors: list[Exception] = []
"""What is wrong with the config; shown at the end, unless the command needed it and has said so."""


def err(text: str) -> None:
    """Write a line to stderr, without secrets; on a terminal its lines end between words."""
    text = redacted(text).rstrip("\n")
    if sys.stderr.isatty():
        width = max(20, get_terminal_size().columns)
        text = "\n".join(fill(line, width, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def stop(text: str, code: int = USAGE) -> NoReturn:
    """Exit the command with a sentence on stderr."""
    raise CommandError(text, code)


def with_runtime(work: Callable[[Runtime], Awaitable[T]], overrides: Mapping[str, object] | None = None) -> T:
    """Run ``work`` in an open runtime and return its result. Exits on a store or config error.

    ``overrides`` replace config values. Warnings about the config go to stderr.
    """
    from hookline.config import ConfigError, load
    from hookline.runtime import Runtime

    async def main() -> T:
        async with Runtime(loaded, find_home()) as runtime:
            gc.freeze()  # objects made at startup are kept, so the collector can skip them
            gc.set_threshold(COLLECT_AFTER)
            gc.enable()
            return await asyncio.ensure_future(work(runtime))  # a task no plugin can cancel

    try:
        loaded = load(find_home(), environment(), overrides or {})
        removed.update(own_process("enclose", loaded.path, loaded.secrets) or {})
        for warning in loaded.warnings:
            err(f"hookline: warning: {warning}")
        _make_home()
        return asyncio.run(main())
    except ConfigError as error:
        unshown_config_errors.clear()
        stop(str(error))
    except HooklineError as error:
        stop(str(error), FAILED)
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise SystemExit(INTERRUPTED) from None


def own_process(method: str, *arguments: object, service: str = "process") -> Any:
    """Call the service ``process``, which separates this process from those that tools start.

    ``admit`` and ``enclose`` end this process if a tool has started it, and ``admit`` of the service
    ``person`` if whoever runs it may not. None if the service is not installed; the dists that bring
    such tools require it.
    """
    points = _installed(group="hookline.services", name=service)
    return next((getattr(point.load(), method)(*arguments) for point in points), None)


def _make_home() -> None:
    """Create the home and its log if necessary; exits with an error if that fails."""
    try:
        quiet_logging()
    except OSError as error:
        stop(f"the home {find_home()} cannot be used: {error.strerror or error}; choose another --home")


def quiet_logging() -> None:
    """Log to ``logs/hookline.log`` in the home, and not to the screen."""
    import logging

    from hookline.log import open_log

    make_home(find_home())
    root = logging.getLogger("hookline")
    root.handlers[:] = [open_log(find_home() / "logs")]
    root.propagate = False
