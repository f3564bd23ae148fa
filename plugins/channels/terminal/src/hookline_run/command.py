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
    from .answer_schema import AnswerSchema
    from .output import RunOutput
    from .turn import Approval, RunRequest


PROMPT = "What to do. Omit it or pass - to read it from standard input."
RESUME = "Finish the session's parked or interrupted turn, and wait for its end."
MODE = "How freely the agent acts in this session: ask, auto, plan or yolo."
SCHEMA = "Print only JSON that fits the JSON schema in this file."
MAX_TURNS = "Stop after this many model calls."
MAX_COST = "Make no further model call once this much is spent."
FAIL_ON_DENY = "Exit with 3 if a call was refused."


def _option(help_text: str, *names: str, value: str | None = None) -> Any:
    return typer.Option(*names, help=help_text, metavar=value)


def run(
    ctx: typer.Context,
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help=PROMPT)] = None,
    session: Annotated[str | None, _option("Continue or create this session.", value="ID")] = None,
    model: Annotated[str | None, _option("Use this model.", value="PROVIDER/MODEL")] = None,
    mode: Annotated[str | None, _option(MODE)] = None,
    yes: Annotated[bool, _option("Approve every request. Denials still apply.", "--yes")] = False,
    no_input: Annotated[
        bool, _option("Never prompt. Calls that need approval are refused.", "--no-input")
    ] = False,
    image: Annotated[list[Path] | None, _option("Attach an image. Can be repeated.")] = None,
    system: Annotated[
        str | None, _option("Extra system prompt for this turn only.", value="TEXT")
    ] = None,
    json: Annotated[bool, _option("Print events as JSON, one per line.", "--json")] = False,
    resume: Annotated[bool, _option(RESUME, "--resume")] = False,
    no_wait: Annotated[bool, _option("Do not wait for background reviews.", "--no-wait")] = False,
    output_schema: Annotated[Path | None, _option(SCHEMA, "--output-schema")] = None,
    max_turns: Annotated[int | None, typer.Option(help=MAX_TURNS, min=1)] = None,
    max_cost: Annotated[float | None, _option(MAX_COST, value="USD")] = None,
    fail_on_deny: Annotated[bool, _option(FAIL_ON_DENY, "--fail-on-deny")] = False,
    trace: Annotated[bool, _option("Record the turn for `hookline trace`.", "--trace")] = False,
) -> None:
    """Run one turn and print the answer.

    Piped input is added to the prompt. Example: git diff | hookline run review
    """
    from .images import attachment
    from .turn import RunRequest

    can_ask = not no_input and sys.stdin.isatty() and prompt != "-"
    approval: Approval = "ask" if can_ask else "no"
    output = _output(json, asks=can_ask and not yes, structured=output_schema is not None)
    try:
        if resume:
            _check_resume(prompt, session, output_schema)
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
            schema=_schema(output_schema, text),
            max_turns=max_turns,
            max_cost=_dollars(max_cost),
            fail_on_deny=fail_on_deny,
        )
        code = _run(request, output, trace)
    except CommandError as error:
        output.refused(error.text)
        raise
    raise SystemExit(code)


def _output(json: bool, *, asks: bool, structured: bool) -> RunOutput:
    from .output import JsonLinesOutput, PlainOutput, StructuredOutput, is_dumb

    if json:
        return JsonLinesOutput(sys.stdout, time.time)
    if structured:
        return StructuredOutput(sys.stdout)
    if is_dumb() or not sys.stdout.isatty():
        return PlainOutput(sys.stdout)
    from .terminal_output import TerminalOutput

    return TerminalOutput(sys.stdout, asks=asks)


def _run(request: RunRequest, output: RunOutput, trace: bool) -> int:
    """Start Hookline, run the turn and return the exit code; what plugins print goes to stderr."""
    from .turn import FAILED, resume_turn, run_turn

    work = resume_turn if request.resume else run_turn
    try:
        with redirect_stdout(sys.stderr):
            code: int = command_line().run(
                lambda plugin: work(plugin, request, output),
                model=request.model,
                max_iterations=request.max_turns,
                trace=trace or None,
            )
    except BrokenPipeError:
        # The reader is gone (`| head`). Python would report it again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


def _check_resume(prompt: str | None, session: str | None, schema: Path | None) -> None:
    if session is None:
        raise CommandError("--resume needs the session: --session ID")
    if prompt is not None:
        raise CommandError("--resume takes no prompt: it finishes the turn that was begun")
    if schema is not None:
        raise CommandError("--output-schema needs a prompt; --resume takes none")


def _schema(path: Path | None, prompt: str) -> AnswerSchema | None:
    from hookline_hookspecs.parts import is_command

    from .answer_schema import AnswerSchema

    if path is not None and is_command(prompt):
        raise CommandError("--output-schema is for answers of the model, not for slash commands")
    return AnswerSchema(path) if path is not None else None


def _dollars(limit: float | None) -> float | None:
    if limit is not None and not 0 < limit < float("inf"):
        raise CommandError("--max-cost: expected an amount above 0, such as 0.50")
    return limit


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
