"""``hookline run``: its options, and what is checked before Hookline starts.

Imported when the command line is built, because of Typer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import CommandError, Host

if TYPE_CHECKING:
    from .output import Output
    from .turn import Request


PROMPT = "What to do; if it is - or left out, it is read from stdin."
MODE = "How freely it acts, for the session: ask, auto, plan or yolo."


def _option(told: str, *names: str) -> Any:
    return typer.Option(*names, help=told)


def run_on(host: Host) -> Callable[..., None]:
    """The command; ``host`` is of the plugin before it is set up."""

    def run(
        ctx: typer.Context,
        prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help=PROMPT)] = None,
        session: Annotated[str | None, _option("Continue or create this session.")] = None,
        model: Annotated[str | None, _option("provider/model for this turn.")] = None,
        mode: Annotated[str | None, _option(MODE)] = None,
        yes: Annotated[bool, _option("Grant what is asked, never Deny.", "--yes")] = False,
        no_input: Annotated[bool, _option("Ask nobody; refuse instead.", "--no-input")] = False,
        image: Annotated[list[Path] | None, _option("Attach a picture; may be repeated.")] = None,
        system: Annotated[str | None, _option("System text for this turn only.")] = None,
        json: Annotated[bool, _option("Events, one JSON object a line.", "--json")] = False,
        no_wait: Annotated[bool, _option("Leave reviews for later.", "--no-wait")] = False,
        trace: Annotated[bool, _option("Record it for hookline trace.", "--trace")] = False,
    ) -> None:
        """Run one turn and print the answer.

        What comes through a pipe goes with the prompt, as in: git diff | hookline run review
        """
        from .pictures import attachment
        from .turn import Request

        asks_nobody = no_input or not sys.stdin.isatty() or prompt == "-"
        show = _output(host, json, asks=not (asks_nobody or yes))
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
            code = _in_hookline(ctx, request, show, trace)
        except CommandError as error:
            show.refused(error.text)
            raise
        raise SystemExit(code)

    return run


def _output(host: Host, json: bool, *, asks: bool) -> Output:
    from .output import JsonLines, Plain
    from .screen import Screen, draws

    if json:
        return JsonLines(sys.stdout, host.now)
    return Screen(sys.stdout, asks=asks) if draws(sys.stdout) else Plain(sys.stdout)


def _in_hookline(ctx: typer.Context, request: Request, show: Output, trace: bool) -> int:
    """Start Hookline, run the turn and return the exit code; plugins' prints go to stderr."""
    from .turn import FAILED, run_turn

    try:
        with redirect_stdout(sys.stderr):
            code: int = ctx.obj(
                lambda host: run_turn(host, request, show), model=request.model, trace=trace or None
            )
    except BrokenPipeError:
        # Who read along has gone (`| head`). Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


def _prompt(text: str | None) -> str | None:
    """The prompt, from stdin if it is ``-``, else with what comes through a pipe behind it.

    Without one, what comes through a pipe is the prompt; None where nothing does.
    """
    from .stdin import alone, behind
    from .turn import is_command

    if text is None:
        return alone().strip() or None
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    elif text.strip() and not is_command(text):
        text = behind(text)
    if not text.strip():
        raise CommandError("the prompt is empty; write what to do, or - to read it from stdin")
    return text


def _session_id(text: str | None) -> str | None:
    if text is None or (0 < len(text) <= 200 and text.isprintable() and "/" not in text):
        return text
    raise CommandError("a session's id is 1 to 200 printable characters without a slash")
