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
    from .output import RunOutput
    from .turn import Approval, RunRequest


PROMPT = "What to do. Omit it or pass - to read it from stdin."
RESUME = "Finish the session's parked or interrupted turn, and wait for its end."
MODE = "How freely the agent acts in this session: ask, auto, plan or yolo."


def _option(help_text: str, *names: str) -> Any:
    return typer.Option(*names, help=help_text)


def run(
    ctx: typer.Context,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help=PROMPT)] = None,
    session: Annotated[str | None, _option("Continue or create this session.")] = None,
    model: Annotated[str | None, _option("Use this model, as provider/model.")] = None,
    mode: Annotated[str | None, _option(MODE)] = None,
    yes: Annotated[bool, _option("Approve every request. Denials still apply.", "--yes")] = False,
    no_input: Annotated[
        bool, _option("Never prompt. Calls that need approval are refused.", "--no-input")
    ] = False,
    image: Annotated[list[Path] | None, _option("Attach an image. Can be repeated.")] = None,
    system: Annotated[str | None, _option("Extra system prompt for this turn only.")] = None,
    json: Annotated[bool, _option("Print events as JSON, one per line.", "--json")] = False,
    resume: Annotated[bool, _option(RESUME, "--resume")] = False,
    no_wait: Annotated[bool, _option("Do not wait for background reviews.", "--no-wait")] = False,
    trace: Annotated[bool, _option("Record the turn for `hookline trace`.", "--trace")] = False,
) -> None:
    """Run one turn and print the answer.

    Piped input is added to the prompt. Example: git diff | hookline run review
    """
    from .images import attachment
    from .turn import RunRequest

    can_ask = not no_input and sys.stdin.isatty() and prompt != "-"
    approval: Approval = "ask" if can_ask else "no"
    output = _output(json, asks=can_ask and not yes)
    try:
        if resume:
            _check_resume(prompt, session)
            text = ""
        elif (text := _prompt(prompt) or "") == "":
            ctx.fail("Missing argument 'PROMPT'.")
        request = RunRequest(
            text=text,
            approval="yes" if yes else approval,
            session=_session_id(session),
            model=model,
            session_mode=mode,
            system=system,
            attachments=tuple([attachment(path) for path in image or ()]),
            wait_for_reviews=not no_wait,
            resume=resume,
        )
        code = _run(request, output, trace)
    except CommandError as error:
        output.refused(error.text)
        raise
    raise SystemExit(code)


def _output(json: bool, *, asks: bool) -> RunOutput:
    from .output import JsonLinesOutput, PlainOutput
    from .rendered_output import RenderedOutput, supports_colors

    if json:
        return JsonLinesOutput(sys.stdout, time.time)
    return (
        RenderedOutput(sys.stdout, asks=asks)
        if supports_colors(sys.stdout)
        else PlainOutput(sys.stdout)
    )


def _run(request: RunRequest, output: RunOutput, trace: bool) -> int:
    """Start Hookline, run the turn and return the exit code; what plugins print goes to stderr."""
    from .turn import FAILED, resume_turn, run_turn

    work = resume_turn if request.resume else run_turn
    try:
        with redirect_stdout(sys.stderr):
            code: int = command_line().run(
                lambda plugin: work(plugin.host, request, output),
                model=request.model,
                trace=trace or None,
            )
    except BrokenPipeError:
        # The reader is gone (`| head`). Python would report it again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


def _check_resume(prompt: str | None, session: str | None) -> None:
    if session is None:
        raise CommandError("--resume needs the session: --session ID")
    if prompt is not None:
        raise CommandError("--resume takes no prompt: it finishes the turn that was begun")


def _prompt(text: str | None) -> str | None:
    """Return the prompt with piped input after it; None if there is neither.

    Without a prompt, piped input is the prompt; with ``-``, all of stdin.
    """
    from hookline_hookspecs.parts import is_command

    from .stdin import piped_text, with_piped_text

    if text is None:
        return piped_text().strip() or None
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    elif text.strip() and not is_command(text):
        text = with_piped_text(text)
    if not text.strip():
        raise CommandError("the prompt is empty. Write what to do, or - to read it from stdin")
    return text


def _session_id(text: str | None) -> str | None:
    if text is None or (0 < len(text) <= 200 and text.isprintable() and "/" not in text):
        return text
    raise CommandError("a session id is 1 to 200 printable characters, without a slash")
