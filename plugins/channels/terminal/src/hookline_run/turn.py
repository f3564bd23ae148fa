"""The turn of ``hookline run``: the message, Ctrl-C, and the exit code."""

from __future__ import annotations

import asyncio
import getpass
import shlex
import signal
import sys
import uuid
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hookline_hookspecs import (
    Attachment,
    CommandError,
    Conversations,
    GatewayHost,
    Host,
    Inbound,
    Inspection,
    Questions,
    StoredQuestion,
    Submission,
    Turn,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.parts import is_command
from hookline_hookspecs.prices import Prices
from hookline_markdown import literal
from hookline_terminal.sessions import choose_mode, new_session_id

from .refused_calls import RefusedCalls

if TYPE_CHECKING:
    from . import Run
    from .answer_schema import AnswerSchema
    from .output import RunOutput

Approval: TypeAlias = Literal["ask", "yes", "no"]
DONE, FAILED, REFUSED, INTERRUPTED = 0, 1, 3, 130
"""Exit codes."""
REVIEW_TIMEOUT = 60.0
"""Seconds to wait for background work after the answer."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The options of ``hookline run``.

    Attributes:
        approval: how an ``Ask`` is answered: by a person, always yes, or always no.
        session_mode: the mode that the session is given; None leaves it as it is.
        wait_for_reviews: finish due reviews in this process.
        resume: finish the session's unfinished turn instead of running ``text``.
        schema: what the answer has to fit.
        max_turns: the maximum number of model calls.
        max_cost: the limit in US dollars.
        fail_on_deny: exit with :data:`REFUSED` if a call was refused.
    """

    text: str
    approval: Approval
    session: str | None
    model: str | None
    session_mode: str | None
    system: str | None
    attachments: tuple[Attachment, ...]
    wait_for_reviews: bool
    resume: bool = False
    schema: AnswerSchema | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    fail_on_deny: bool = False

    @property
    def instructions(self) -> str | None:
        """The system text for this turn only."""
        schema = self.schema.instructions if self.schema is not None else None
        return "\n\n".join(filter(None, (self.system, schema))) or None


async def run_turn(plugin: Run, request: RunRequest, output: RunOutput) -> int:
    """Run the turn, show it and return the exit code.

    Raises:
        HooklineError: there is no usable model, or the store failed.
    """
    host, core = plugin.host, plugin.host.services[Inspection]
    _print_plugin_problems(core)
    _limit_cost(plugin, request)
    if not is_command(request.text):
        core.check_model(core.default_model())
        if plugin.cost_limit is not None:
            plugin.cost_limit.check(core.default_model())
    output.connect(host)
    refused = RefusedCalls()
    refused.connect(host)
    session = request.session or new_session_id(host.now())
    if request.session_mode is not None:
        await choose_mode(host, session, request.session_mode)
    inbound = Inbound(
        channel="terminal",
        chat_id="default",
        user_id=getpass.getuser(),
        message_id=uuid.uuid4().hex,
        text=request.text,
        attachments=request.attachments,
        received=host.now(),
        session_id=session,
        system=request.instructions,
        model=request.model,
    )
    submission = await _submit(host, inbound, request, output)
    while (answer := await _ask(host, submission, output)) is not None:
        inbound = replace(
            inbound,
            message_id=uuid.uuid4().hex,
            text=answer,
            attachments=(),
            received=host.now(),
            session_id=submission.turn.session.id,
        )
        submission = await _submit(host, inbound, request, output)
    if request.session_mode == "plan" and submission.turn.stop == "done":
        named = shlex.quote(submission.turn.session.id)
        sys.stderr.write(f"Carry the plan out with: hookline run --session {named} /accept\n")
    if request.wait_for_reviews:
        await host.services[GatewayHost].finish(REVIEW_TIMEOUT)
    return _exit_code(submission.turn, request, refused)


async def resume_turn(plugin: Run, request: RunRequest, output: RunOutput) -> int:
    """Finish the session's unfinished turn, show its end and return the exit code.

    Raises:
        HooklineError: no turn is unfinished, or the store failed.
    """
    host = plugin.host
    _print_plugin_problems(host.services[Inspection])
    _limit_cost(plugin, request)
    output.connect(host)
    refused = RefusedCalls()
    refused.connect(host)
    session = request.session or ""
    asks_here = request.approval == "ask"
    for question in await _waited_for(host, session):
        if not (asks_here and question.channel == TERMINAL):
            output.waits(question, in_full=True)
    _leave_on_interrupt(host, session)
    submission = await host.services[Conversations].resume(session, "ask" if asks_here else "no")
    if submission is None:
        raise CommandError(f"no turn of the session {session} is unfinished")
    output.finished(submission)
    await submission.mark_delivered()
    if request.wait_for_reviews:
        await host.services[GatewayHost].finish(REVIEW_TIMEOUT)
    return _exit_code(submission.turn, request, refused)


def _limit_cost(plugin: Run, request: RunRequest) -> None:
    if request.max_cost is not None:
        from .cost_limit import CostLimit

        plugin.cost_limit = CostLimit(Prices.of(plugin.host), request.max_cost)


async def _waited_for(host: Host, session: str) -> list[StoredQuestion]:
    """The questions that the session's parked turn waits for."""
    found = await host.services[Questions].open(session=session)
    return [question for question in found if not question.ends_turn]


def _print_plugin_problems(core: Inspection) -> None:
    for warning in core.plugin_problems():
        sys.stderr.write(f"hookline: warning: {warning}\n")


async def _submit(
    host: Host, inbound: Inbound, request: RunRequest, output: RunOutput
) -> Submission:
    """Run one turn and show its end."""
    submission = await _send(host, inbound, request)
    if request.schema is not None:
        submission = await _fitting(host, inbound, request, submission, output)
    if submission.turn.stop == "question" and submission.question is None:
        for question in await _waited_for(host, submission.turn.session.id):
            output.waits(question, in_full=False)
    output.finished(submission)
    await submission.mark_delivered()
    return submission


async def _send(host: Host, inbound: Inbound, request: RunRequest) -> Submission:
    _stop_on_interrupt(host, inbound)
    return await host.services[Conversations].submit(inbound, request.approval)


async def _fitting(
    host: Host, inbound: Inbound, request: RunRequest, submission: Submission, output: RunOutput
) -> Submission:
    """Return the submission with an answer that fits the schema; the model has one more try.

    Without one, the turn in it has the stop ``error`` and a sentence instead of the answer.
    """
    from .answer_schema import RETRY, InvalidAnswer

    assert request.schema is not None
    first = True
    while submission.turn.stop == "done":
        try:
            answer = request.schema.checked(submission.turn.reply)
        except InvalidAnswer as error:
            if not first:
                text = f"the answer does not fit {request.schema.path}: {error}"
                return _failed(submission, output, text)
            await submission.mark_delivered()
            output.note("The answer does not fit the schema; asking once more.")
            errors = "\n".join(f"- {one}" for one in error.errors)
            again = replace(
                inbound,
                message_id=uuid.uuid4().hex,
                text=RETRY.format(errors=errors),
                attachments=(),
                received=host.now(),
                session_id=submission.turn.session.id,
            )
            submission, first = await _send(host, again, request), False
        else:
            return replace(submission, turn=replace(submission.turn, reply=answer))
    if submission.turn.stop == "question":
        text = f"the turn ended in a question instead of JSON: {submission.turn.reply}"
        return _failed(submission, output, text)
    return submission


def _failed(submission: Submission, output: RunOutput, text: str) -> Submission:
    output.failed("schema", text)
    turn = replace(submission.turn, stop="error", reply=text)
    return replace(submission, turn=turn, question=None)


async def _ask(host: Host, submission: Submission, output: RunOutput) -> str | None:
    """Ask the question that a turn ended with on the terminal; None without an answer."""
    question = submission.question
    if question is None or not question.choices or not output.asks:
        return None
    channel = next((found for found in host.channels() if found.name == "terminal"), None)
    answer = await channel.answer_to(question) if channel is not None else None
    if answer is None:
        named = shlex.quote(submission.turn.session.id)
        for number, choice in enumerate(question.choices, 1):
            sys.stderr.write(f"  {number}. {literal(choice)}\n")
        sys.stderr.write(f"Answer it with: hookline run --session {named} ANSWER\n")
    return answer


def _exit_code(turn: Turn, request: RunRequest, refused: RefusedCalls) -> int:
    if turn.stop == "stopped":
        return INTERRUPTED
    if turn.stop in ("error", "max_iterations", "budget", "denied"):
        return FAILED
    if request.fail_on_deny and refused.names:
        sys.stderr.write(f"hookline: {refused.sentence()}\n")
        return REFUSED
    return DONE


def _stop_on_interrupt(host: Host, inbound: Inbound) -> None:
    """Make the first Ctrl-C stop the turn cleanly, and the next one end the process."""
    main = asyncio.current_task()

    async def stop() -> None:
        if not await host.services[Conversations].stop(inbound) and main is not None:
            main.cancel()

    _on_first_interrupt(host, stop)


def _leave_on_interrupt(host: Host, session: str) -> None:
    """Like :func:`_stop_on_interrupt`, but leave a turn that waits for an answer as it is."""
    main = asyncio.current_task()
    inbound = Inbound("terminal", "default", getpass.getuser(), "", "", session_id=session)

    async def leave() -> None:
        is_waiting = await _waited_for(host, session)
        stopped = not is_waiting and await host.services[Conversations].stop(inbound)
        if not stopped and main is not None:
            main.cancel()

    _on_first_interrupt(host, leave)


def _on_first_interrupt(host: Host, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        host.spawn(stop(), "stop")

    with suppress(NotImplementedError, RuntimeError):
        loop.add_signal_handler(signal.SIGINT, interrupted)
