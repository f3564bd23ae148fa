"""Forms: the answer to one is a JSON object. A user interface shows it whole, or asks for one value
at a time."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from hookline_hookspecs.forms import FormField, read_form, read_value
from hookline_hookspecs.questions import (
    NoSuchChoice,
    Question,
    QuestionAnswer,
    StoredQuestion,
    find_choice,
)

MAX_ATTEMPTS = 3
"""Times that a person is asked for a valid value."""
AskOne = Callable[[Question], Awaitable[QuestionAnswer | None]]


def read_answer(question: StoredQuestion, typed: str) -> tuple[str, str]:
    """The choice that a typed answer names and the words that follow ``Deny``, or a form's values.

    Raises ``NoSuchChoice``, which says what to type.
    """
    if question.fields:
        return _read_form(question, typed), ""
    found = find_choice(typed, question.choices) if question.choices else (typed.strip(), "")
    if found is None or not found[0]:
        raise NoSuchChoice(
            f"{typed.strip()!r} is not one of the choices. Answer with a number or one of: "
            f"{', '.join(question.choices)}."
        )
    return found


def _read_form(question: StoredQuestion, typed: str) -> str:
    named = [one for one in question.choices if str(one).casefold() == typed.strip().casefold()]
    if named:
        return named[0]
    try:
        return json.dumps(read_form(typed, question.fields), ensure_ascii=False)
    except ValueError as error:
        raise NoSuchChoice(f"Nothing was sent. {error}.") from None


async def ask_whole(
    question: Question, fill: Callable[[Question], Awaitable[str | None]]
) -> QuestionAnswer | None:
    """Ask for all values at once; None if the person cannot be shown a form.

    It is declined if the values are not valid after several attempts.
    """
    why = ""
    for _ in range(MAX_ATTEMPTS):
        answer = await fill(replace(question, text=f"{question.text}{why}"))
        if answer is None or answer in question.choices:
            return None if answer is None else QuestionAnswer(answer)
        try:
            return QuestionAnswer(json.dumps(read_form(answer, question.fields)))
        except ValueError as error:
            why = f"\nInvalid answer: {error}."
    return QuestionAnswer(question.choices[-1])


async def ask_values(question: Question, ask: AskOne) -> QuestionAnswer | None:
    """Ask for each value that is required or has choices; None if the person enters none.

    The choices of the form, such as ``Decline``, are offered where the person chooses.
    """
    values: dict[str, Any] = {}
    needed = [
        field
        for field in question.fields
        if field.choices or (field.required and field.default is None)
    ]
    if all(field.default is not None for field in question.fields):
        needed = []
    for number, field in enumerate(needed):
        answer = await _ask_value(question, field, ask, is_first=number == 0)
        if answer is None or answer.choice in question.choices:
            return answer
        values[field.name] = answer.choice
    if not needed:
        answer = await ask(replace(question, fields=()))
        if answer is None or answer.choice == question.choices[-1]:
            return answer
    return QuestionAnswer(json.dumps(read_form(json.dumps(values), question.fields)))


async def _ask_value(
    question: Question, field: FormField, ask: AskOne, *, is_first: bool
) -> QuestionAnswer | None:
    """A valid text for a field, one of the form's choices, or None."""
    text = f"{question.text}\n{field.label}" if is_first else field.label
    choices = (*field.choices, *question.choices[-1:]) if field.choices else ()
    why = ""
    for _ in range(MAX_ATTEMPTS):
        one = replace(question, text=f"{text}{why}", choices=choices, fields=(), preview="")
        answer = await ask(one)
        if answer is None or answer.choice in question.choices:
            return answer
        if not answer.choice.strip():
            return None
        try:
            read_value(answer.choice, field)
            return answer
        except ValueError as error:
            why = f"\nInvalid answer: {error}."
    return None
