"""Show a real run without an API key; only the model's words are recorded.

``hookline demo``: sets up a temporary folder, runs the story, and cleans up.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from functools import partial
from typing import Annotated

import typer

from .interrupts import held
from .screen import Screen
from .stage import Stage
from .stories import DEFAULT, NEEDS, REAL, STORIES, find, lacking, lacking_packages

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""

STORY_HELP = "; ".join(f"{name}: {what}" for name, what in STORIES.items())


def demo(
    story: Annotated[str, typer.Argument(metavar="STORY", help=STORY_HELP)] = DEFAULT,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary folder.")] = False,
    model: Annotated[
        str | None, typer.Option(help=f"Use a real model; for {', '.join(REAL)}.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="web: do not open a browser.")] = False,
) -> None:
    """Show a real run without an API key; only the model's words are recorded."""
    if story not in STORIES:
        there_are = ", ".join(STORIES)
        sys.stderr.write(f"hookline: unknown story {story!r}. Choose one of {there_are}\n")
        raise SystemExit(USAGE)
    if model is not None and story not in REAL:
        sys.stderr.write(
            f"hookline: {story} uses recorded answers; --model is for {', '.join(REAL)}\n"
        )
        raise SystemExit(USAGE)
    if absent := lacking(story):
        installs = " && ".join(f"hookline plugins enable {name}" for name in NEEDS[story])
        sys.stderr.write(
            f"hookline: {story} needs {' and '.join(absent)}, which is not installed. "
            f"Run `{installs}`.\n"
        )
        raise SystemExit(USAGE)
    if packages := lacking_packages(story):
        sys.stderr.write(
            f"hookline: {story} needs {' and '.join(packages)}, which is not installed. Run "
            f"`pip install {' '.join(packages)}` in Hookline's environment.\n"
        )
        raise SystemExit(USAGE)
    try:
        raise SystemExit(_tell(story, keep, model, may_open=not no_open))
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # Who read along has gone (`| head`). Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FAILED) from None


def _tell(name: str, keep: bool, model: str | None, *, may_open: bool) -> int:
    """Tell the story on a stage of its own; the exit code. A failure keeps the stage."""
    story, screen = find(name), Screen(sys.stdout)
    with ExitStack() as leaving:
        with held():
            stage = Stage.set_up(name, model, may_open=may_open)
            kept = partial(screen.say, f"The folder was kept: {stage.folder}")
            leaving.callback(kept if keep else stage.remove)
        came_true = story.tell(stage, screen)
        if not came_true:
            leaving.pop_all()
            kept()
    if came_true and keep and name not in NEEDS:
        screen.say(f"  its session:  hookline sessions show demo --home {stage.home}")
    return DONE if came_true else FAILED
