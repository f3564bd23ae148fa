"""Try Hookline without an API key.

``hookline demo``: sets up a temporary folder, runs the story, and cleans up.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from functools import partial
from typing import Annotated

import typer

from .interrupts import delay_interrupts
from .screen import Screen
from .stage import Stage
from .stories import DEFAULT, NEEDS, REAL, STORIES, find, missing_packages, missing_plugins

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""

STORY_HELP = "; ".join(f"{name}: {what}" for name, what in STORIES.items()) + "."


def demo(
    story: Annotated[str, typer.Argument(metavar="STORY", help=STORY_HELP)] = DEFAULT,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary folder.")] = False,
    model: Annotated[str | None, typer.Option(help=f"{', '.join(REAL)}: use a real model.")] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="web: do not open a browser.")] = False,
) -> None:
    """Try Hookline without an API key.

    The model's words are recorded. Everything else is real: tools, hooks, approvals and storage.
    """
    if story not in STORIES:
        names = ", ".join(STORIES)
        sys.stderr.write(f"hookline: unknown story {story!r}. Choose one of {names}\n")
        raise SystemExit(USAGE)
    if model is not None and story not in REAL:
        sys.stderr.write(
            f"hookline: {story} uses recorded answers; --model is for {', '.join(REAL)}\n"
        )
        raise SystemExit(USAGE)
    if absent := missing_plugins(story):
        installs = " && ".join(f"hookline plugins enable {name}" for name in NEEDS[story])
        sys.stderr.write(
            f"hookline: {story} needs {' and '.join(absent)}, which is not installed. "
            f"Run `{installs}`.\n"
        )
        raise SystemExit(USAGE)
    if packages := missing_packages(story):
        sys.stderr.write(
            f"hookline: {story} needs {' and '.join(packages)}, which is not installed. Run "
            f"`pip install {' '.join(packages)}` in Hookline's environment.\n"
        )
        raise SystemExit(USAGE)
    try:
        raise SystemExit(_run_story(story, keep, model, may_open=not no_open))
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe; prevent a second error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FAILED) from None


def _run_story(name: str, keep: bool, model: str | None, *, may_open: bool) -> int:
    """Run the story on its own stage; return the exit code. The stage of a failed story is kept."""
    story, screen = find(name), Screen(sys.stdout)
    with ExitStack() as cleanup:
        with delay_interrupts():
            stage = Stage.set_up(name, model, may_open=may_open)
            kept = partial(screen.say, f"The folder was kept: {stage.folder}")
            cleanup.callback(kept if keep else stage.remove)
        succeeded = story.tell(stage, screen)
        if not succeeded:
            cleanup.pop_all()
            kept()
    if succeeded and keep and name not in NEEDS:
        screen.say(f"  its session:  hookline sessions show demo --home {stage.home}")
    return DONE if succeeded else FAILED
