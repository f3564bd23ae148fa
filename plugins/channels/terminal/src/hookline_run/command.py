"""Run one turn and print the answer.

``hookline run``: its options, and what is checked before Hookline starts.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import command_line

if TYPE_CHECKING:
    from .output import Output
    from .turn import Request


PROMPT = "What to do; - or nothing reads it from stdin."
MODE = "How freely the agent acts in this session: ask, auto, plan or yolo."


def _option(told: str, *names: str) -> Any:
    return typer.Option(*names, help=told)


def run(
    ctx: typer.Context,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help=PROMPT)] = None,
    session: Annotated[str | None, _option("Continue or create this session.")] = None,
    model: Annotated[str | None, _option("Use this model, as provider/model.")] = None,
    mode: Annotated[str | None, _option(MODE)] = None,
    yes: Annotated[bool, _option("Approve every request; outright denials stay.", "--yes")] = False,
    no_input: Annotated[
        bool, _option("Never prompt; refuse what needs approval.", "--no-input")
    ] = False,
    image: Annotated[list[Path] | None, _option("Attach an image; may be repeated.")] = None,
    system: Annotated[str | None, _option("Add system text for this turn only.")] = None,
    json: Annotated[bool, _option("Print events as JSON, one per line.", "--json")] = False,
    no_wait: Annotated[bool, _option("Do not wait for background reviews.", "--no-wait")] = False,
    trace: Annotated[bool, _option("Record the turn for hookline trace.", "--trace")] = False,
) -> None:
    """Run one turn and print the answer.

    Piped input is added to the prompt, as in: git diff | hookline run review
    """
    from .pictures import attachment
    from .turn import Request

    asks_nobody = no_input or not sys.stdin.isatty() or prompt == "-"
    show = _output(json, asks=not (asks_nobody or yes))
    try:
        if (text := _prompt(prompt)) is None:
            ctx.fail("Missing argument 'PROMPT'.")
        request = Request(
            text=text,
            mode="yes" if yes else "no" if asks_nobody else "ask",
            session=_session_id(session),
            model=model,
            freedom=mode,
            system=system,
            attachments=tuple([attachment(path) for path in image or ()]),
            waits=not no_wait,
        )
        code = _in_hookline(request, show, trace)
    except CommandError as error:
        show.refused(error.text)
        raise
    raise SystemExit(code)


def _output(json: bool, *, asks: bool) -> Output:
    from .output import JsonLines, Plain
    from .screen import Screen, draws

    if json:
        return JsonLines(sys.stdout, time.time)
    return Screen(sys.stdout, asks=asks) if draws(sys.stdout) else Plain(sys.stdout)


def _in_hookline(request: Request, show: Output, trace: bool) -> int:
    """Start Hookline, run the turn and return the exit code; plugins' prints go to stderr."""
    from .turn import FAILED, run_turn

    try:
        with redirect_stdout(sys.stderr):
            code: int = command_line().run(
                lambda plugin: run_turn(plugin.host, request, show),
                model=request.model,
                trace=trace or None,
            )
    except BrokenPipeError:
        # The reader has gone (`| head`). Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


def _prompt(text: str | None) -> str | None:
    """The prompt, from stdin if it is ``-``, else with what comes through a pipe behind it.

    Without one, what comes through a pipe is the prompt; None where nothing does.
    """
    from hookline_hookspecs.parts import is_command

    from .stdin import alone, behind

    if text is None:
        return alone().strip() or None
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    elif text.strip() and not is_command(text):
        text = behind(text)
    if not text.strip():
        raise CommandError("the prompt is empty. Write what to do, or - to read it from stdin")
    return text


def _session_id(text: str | None) -> str | None:
    if text is None or (0 < len(text) <= 200 and text.isprintable() and "/" not in text):
        return text
    raise CommandError("a session id is 1 to 200 printable characters, without a slash")
