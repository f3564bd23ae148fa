"""``hookline init``: asks (:mod:`.dialogue`), writes files (:mod:`.files`), tries a request."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hookline_markdown import literal

from . import channel, files
from .choices import Choices, ask_for_choices
from .command import hookline
from .dialogue import tell

TRY_SECONDS = 60
"""How long the test request may take."""
INTERRUPTED = 130
NEXT = ("hookline chat", 'hookline run "What is in this folder?"', "hookline doctor")
NEXT_WITH_CHANNEL = ("hookline gateway", "hookline doctor", "hookline chat")


def initialise(home: Path) -> None:
    """Set ``home`` up. Run again, it adds what is missing and changes nothing that is there."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    choices = Choices()
    if interactive:
        try:
            here = {name for name, value in os.environ.items() if value}
            choices = ask_for_choices(files.names_in_env(home / ".env") | here)
        except (EOFError, KeyboardInterrupt):
            tell("\nNothing was written.")
            raise SystemExit(INTERRUPTED) from None
    _write(home, choices)
    if not interactive:
        tell("There is no terminal to ask on: put a key into .env, then try `hookline doctor`.")
    elif choices.can_answer:
        _try(home, choices)
    else:
        tell(f"No key yet: put one into {home / '.env'} before the first chat.")
    if choices.telegram:
        channel.prepare(home)
    following = NEXT_WITH_CHANNEL if choices.telegram else NEXT
    tell("Next:", *(f"  {command}" for command in following))


def _write(home: Path, choices: Choices) -> None:
    try:
        files.make_home(home)
        tell(*files.write_env(home / ".env", choices.variables))
        tell(*files.write_config(home / "config.yaml", choices))
    except OSError as error:
        tell(f"hookline: {error.filename or home}: {error.strerror or error}; nothing more is done")
        raise SystemExit(1) from None


def _try(home: Path, choices: Choices) -> None:
    """Send one request as `hookline run` sends it."""
    tell("Sending one test request …")
    try:
        done = hookline(home, "run", "--no-input", "Say: ready", seconds=TRY_SECONDS)
    except subprocess.TimeoutExpired:
        tell(f"There was no answer within {TRY_SECONDS} s. Everything is written; try it again:")
        return
    said, trouble = done.stdout.strip(), done.stderr.strip()
    if done.returncode == 0:
        tell(f"It answered: {literal(said)}")
    else:
        tell("The test request failed:", *(f"  {literal(n)}" for n in trouble.split("\n")[-5:]))
        tell(f"Everything is written; mend {home / '.env'} or {home / 'config.yaml'}.")
