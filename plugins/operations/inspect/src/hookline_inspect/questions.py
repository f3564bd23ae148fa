"""``hookline questions list|show|answer``."""

from __future__ import annotations

import getpass
import os
import shlex
from typing import get_args

from hookline_hookspecs import Host, Questions
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.forms import describe_field
from hookline_hookspecs.questions import QuestionError, QuestionKind, StoredQuestion, marked_preview
from hookline_hookspecs.visible_text import spell_out

from .output import FAILED, exit_with_error, print_json, print_text
from .sessions import local_time

ACTIONS = ("list", "show", "answer")
NONE = "No question is open."


def action(name: str) -> str:
    """The name of an action, as an argument; else end the command."""
    if name not in ACTIONS:
        exit_with_error(f"unknown action {name!r}. Use one of: {', '.join(ACTIONS)}")
    return name


async def list_(host: Host, words: list[str], kind: str | None, *, json: bool) -> None:
    """Print the open questions, oldest first, in full."""
    if words:
        exit_with_error("`questions list` takes no id. `hookline questions` shows every question")
    if kind is not None and kind not in get_args(QuestionKind):
        exit_with_error(f"unknown kind {kind!r}. Use one of: {', '.join(get_args(QuestionKind))}")
    found = await host.services[Questions].open()
    shown = [question for question in found if kind in (None, question.kind)]
    if json:
        print_json([question.to_dict() for question in shown])
        return
    print_text("\n\n".join(map(_lines, shown)) if shown else NONE)


def _lines(question: StoredQuestion) -> str:
    """A question for people: the whole preview, escaped and indented."""
    until = f", until {local_time(question.expires)}" if question.expires is not None else ""
    head = f"{question.id}  {question.kind}"
    if question.origin:
        head += f"  for {question.origin} in chat {question.chat}"
    lines = [f"{spell_out(head)}  since {local_time(question.created)}{until}"]
    lines += _indented(spell_out(question.text), "  ")
    if question.preview:
        lines += _indented(spell_out(marked_preview(question.preview, question.marks)), "  │ ")
    for field in question.fields:
        lines += _indented(f"- {spell_out(describe_field(field))}", "  ")
    for number, choice in enumerate(question.choices, 1):
        lines += _indented(f"{number}. {spell_out(choice)}", "  ")
    if question.preview:
        lines.append(f"  hookline questions answer {question.id} CHOICE {question.digest}")
    return "\n".join(lines)


def _indented(text: str, indent: str) -> list[str]:
    return [f"{indent}{line}" for line in text.split("\n")]


async def show(host: Host, words: list[str], *, json: bool) -> None:
    """Print a question in full, and how it is answered."""
    if len(words) != 1:
        exit_with_error("name a question, such as `hookline questions show ID`")
    question = await host.services[Questions].get(words[0])
    if question is None:
        exit_with_error(f"no question {words[0]}. `hookline questions` lists the open ones", FAILED)
    if json:
        print_json(question.to_dict())
        return
    print_text(_lines(question))


async def answer(host: Host, words: list[str], *, json: bool) -> None:
    """Answer a question, and say how its turn continues."""
    if len(words) < 2:
        exit_with_error(
            "name a question and a choice, such as `hookline questions answer ID 1`. "
            "`hookline questions` lists the open questions"
        )
    if await host.services[Questions].get(words[0]) is None:
        exit_with_error(f"no question {words[0]}. `hookline questions` lists the open ones", FAILED)
    try:
        answered = await host.services[Questions].answer(
            words[0], " ".join(words[1:]), TERMINAL, _user()
        )
    except QuestionError as error:
        exit_with_error(str(error), FAILED)
    if json:
        print_json(answered.to_dict())
        return
    if answered.handler:
        print_text(spell_out(answered.outcome) or "Answered.")
        return
    choice = answered.answer.choice if answered.answer is not None else ""
    print_text(f"Answered: {choice}. {_continuation(answered)}")


def _continuation(question: StoredQuestion) -> str:
    """How the turn continues. A gateway may run on another machine, so none is looked for."""
    where = "its terminal" if question.channel == TERMINAL else "the gateway"
    command = f"hookline run --session {shlex.quote(question.session)} --resume"
    return f"The turn continues in {where}; if that is not running, run: {command}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run a user id without a name
        return str(os.getuid())
