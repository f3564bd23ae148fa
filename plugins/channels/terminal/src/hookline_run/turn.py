"""The turn of ``hookline run``: what is submitted, Ctrl-C, and the exit code."""

from __future__ import annotations

import asyncio
import getpass
import shlex
import signal
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from hookline_hookspecs import (
    Attachment,
    CommandError,
    Conversations,
    GatewayHost,
    Host,
    Inbound,
    Inspection,
    Modes,
    Submission,
    Turn,
)
from hookline_hookspecs.parts import is_command
from hookline_markdown import literal

if TYPE_CHECKING:
    from hookline_hookspecs import Mode

    from .output import Output

Approval: TypeAlias = Literal["ask", "yes", "no"]
DONE, FAILED, INTERRUPTED = 0, 1, 130
"""Exit codes (CONTRACT, Command line)."""
REVIEW_SECONDS = 60.0
"""How long background work is waited for after the answer (CONTRACT)."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked on the command line.

    ``mode`` says who answers an ``Ask``, ``freedom`` is the mode that the session is given,
    ``waits`` whether due reviews are finished in this process.
    """

    text: str
    mode: Approval
    session: str | None
    model: str | None
    freedom: str | None
    system: str | None
    attachments: tuple[Attachment, ...]
    waits: bool


async def run_turn(host: Host, request: Request, show: Output) -> int:
    """Run the turn, show it and return the exit code.

    Raises ``HooklineError`` kin if there is no usable model or the store fails.
    """
    core = host.services[Inspection]
    for warning in core.plugin_problems():
        sys.stderr.write(f"hookline: warning: {warning}\n")
    if not is_command(request.text):
        core.check_model(core.default_model())
    show.connect(host)
    session = request.session or _new_session_id(host.now())
    if request.freedom is not None:
        await _choose_mode(host, session, request.freedom)
    inbound = Inbound(
        channel="terminal",
        chat_id="default",
        user_id=getpass.getuser(),
        message_id=uuid.uuid4().hex,
        text=request.text,
        attachments=request.attachments,
        received=host.now(),
        session_id=session,
        system=request.system,
        model=request.model,
    )
    submission = await _submitted(host, inbound, request.mode, show)
    while (answer := await _answer(host, submission, show)) is not None:
        inbound = replace(
            inbound,
            message_id=uuid.uuid4().hex,
            text=answer,
            attachments=(),
            received=host.now(),
            session_id=submission.turn.session.id,
        )
        submission = await _submitted(host, inbound, request.mode, show)
    if request.freedom == "plan" and submission.turn.stop == "done":
        named = shlex.quote(submission.turn.session.id)
        sys.stderr.write(f"Carry the plan out with: hookline run --session {named} /accept\n")
    if request.waits:
        await host.services[GatewayHost].finish(REVIEW_SECONDS)
    return _exit_code(submission.turn)


async def _submitted(host: Host, inbound: Inbound, mode: Approval, show: Output) -> Submission:
    """Run one turn and show its end."""
    _stop_on_interrupt(host, inbound)
    submission = await host.services[Conversations].submit(inbound, mode)
    show.finished(submission)
    await submission.mark_delivered()
    return submission


async def _answer(host: Host, submission: Submission, show: Output) -> str | None:
    """Return the person's answer to the question that a turn ended with; None if none is given.

    The channel of the terminal asks, where it can.
    """
    question = submission.question
    if question is None or not question.choices or not show.asks:
        return None
    channel = next((one for one in host.channels() if one.name == "terminal"), None)
    answer = await channel.answer_to(question) if channel is not None else None
    if answer is None:
        named = shlex.quote(submission.turn.session.id)
        for number, choice in enumerate(question.choices, 1):
            sys.stderr.write(f"  {number}. {literal(choice)}\n")
        sys.stderr.write(f"Answer it with: hookline run --session {named} ANSWER\n")
    return answer


async def _choose_mode(host: Host, session: str, mode: str) -> None:
    """Give the session its mode. Raises ``CommandError`` if it cannot have that."""
    modes = host.services.get(Modes)
    if modes is None:
        raise CommandError(
            "--mode needs the plugin modes, which is off; `hookline plugins enable modes` "
            "switches it on"
        )
    await modes.set(session, cast("Mode", mode))


def _new_session_id(now: float) -> str:
    return f"{time.strftime('%Y%m%d', time.localtime(now))}-{uuid.uuid4().hex[:8]}"


def _exit_code(turn: Turn) -> int:
    if turn.stop == "stopped":
        return INTERRUPTED
    return FAILED if turn.stop in ("error", "max_iterations", "budget", "denied") else DONE


def _stop_on_interrupt(host: Host, inbound: Inbound) -> None:
    """The first Ctrl-C stops the turn cleanly; the next one ends the process."""
    loop = asyncio.get_running_loop()
    main = asyncio.current_task()

    async def stop() -> None:
        if not await host.services[Conversations].stop(inbound) and main is not None:
            main.cancel()

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        host.spawn(stop(), "stop")

    with suppress(NotImplementedError, RuntimeError):
        loop.add_signal_handler(signal.SIGINT, interrupted)
