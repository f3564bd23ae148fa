"""Shared by the commands: the home, error messages, output, opening a runtime."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer
from hookline_hookspecs import CommandError, HooklineError

from hookline.home import find_home, make_home

if TYPE_CHECKING:
    from hookline.runtime import Runtime

T = TypeVar("T")
Json = Annotated[bool, typer.Option("--json", help="JSON.")]
DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes (CONTRACT, Command line)."""


_LINE_ENDS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}
"""Line terminators for some readers, which JSON allows unescaped."""


unshown_config_errors: list[Exception] = []
"""What is wrong with the config; shown at the end, unless the command needed it and has said so."""


def home() -> Path:
    """Return the home folder of this invocation."""
    return find_home()


def out(text: str) -> None:
    """Write a line to stdout."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def err(text: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(text if text.endswith("\n") else text + "\n")
    sys.stderr.flush()


def out_json(value: object) -> None:
    """Write a JSON value to stdout, on one line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    out(text.translate(_LINE_ENDS))


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
        async with Runtime(loaded, home()) as runtime:
            gc.freeze()  # objects made at startup are kept, so the collector can skip them
            gc.enable()
            return await asyncio.ensure_future(work(runtime))  # a task no plugin can cancel

    try:
        loaded = load(home(), os.environ, overrides or {})
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


def _make_home() -> None:
    """Create the home and its log if necessary; exits with an error if that fails."""
    try:
        quiet_logging()
    except OSError as error:
        stop(f"the home {home()} cannot be used: {error.strerror or error}; choose another --home")


def quiet_logging() -> None:
    """Log to ``logs/hookline.log`` in the home (mode 0600), and not to the screen."""
    import logging
    from logging.handlers import RotatingFileHandler

    class Private(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            os.close(os.open(self.baseFilename, os.O_CREAT | os.O_APPEND, 0o600))
            return super()._open()

    make_home(home())
    folder = home() / "logs"
    folder.mkdir(exist_ok=True, mode=0o700)
    handler = Private(
        folder / "hookline.log",
        maxBytes=2_000_000,
        backupCount=3,
        delay=True,
        encoding="utf-8",
        errors="backslashreplace",  # errors of plugins may contain lone surrogates
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("hookline")
    root.handlers[:] = [handler]
    root.propagate = False


def table(rows: list[list[Any]]) -> str:
    """Format rows as text in aligned columns."""
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    line = "  ".join(f"{{:{width}}}" for width in widths)
    return "\n".join(line.format(*row).rstrip() for row in texts)
