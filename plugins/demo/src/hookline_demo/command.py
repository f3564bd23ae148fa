"""``hookline demo [STORY] [--keep]``: sets the stage, has the story told, clears up."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from .screen import Screen
from .stage import Stage
from .stories import DEFAULT, STORIES, find

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes, as everywhere in Hookline."""

STORY_HELP = "; ".join(f"{name}: {what}" for name, what in STORIES.items())


def demo(
    story: Annotated[str, typer.Argument(metavar="STORY", help=STORY_HELP)] = DEFAULT,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary folder.")] = False,
) -> None:
    """Show a real run without a key; only the model's words are recorded."""
    if story not in STORIES:
        there_are = ", ".join(STORIES)
        sys.stderr.write(f"hookline: there is no story {story!r}; those there are: {there_are}\n")
        raise SystemExit(USAGE)
    try:
        raise SystemExit(_tell(story, keep))
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # Who read along has gone (`| head`). Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FAILED) from None


def _tell(name: str, keep: bool) -> int:
    """Tell the story on a stage of its own; the exit code. A failure keeps the stage."""
    story, screen = find(name), Screen(sys.stdout)
    stage = Stage.set_up(name)
    try:
        came_true = story.tell(stage, screen)
    except BaseException:
        if keep:
            screen.say(f"The folder is kept: {stage.folder}")
        else:
            stage.remove()
        raise
    if came_true and not keep:
        stage.remove()
        return DONE
    screen.say(f"The folder is kept: {stage.folder}")
    if came_true:
        screen.say(f"  its session:  hookline sessions show demo --home {stage.home}")
    return DONE if came_true else FAILED
