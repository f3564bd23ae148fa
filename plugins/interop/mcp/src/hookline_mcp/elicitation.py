"""Asks the person for whom a server was called the server's questions (elicitation)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, HooklineError, Question

from .tool_schema import strip_hidden

if TYPE_CHECKING:
    from mcp_types import ElicitResult

ACCEPT, DECLINE, OPENED = "Accept", "Decline", "I have opened it"
MAX_FIELDS = 12
MAX_CHOICES = 20
MAX_TEXT_CHARS = 1_000
"""Characters of a server's text shown to a person."""
MAX_ATTEMPTS = 3
"""Times that a person is asked for a valid text."""
_TRUE, _FALSE = "Yes", "No"
UNANSWERED = "unasked"
"""Key in a turn's stash: questions that need a written answer and got none."""


async def answer_elicitation(server: str, ctx: Context | None, params: Any) -> ElicitResult:
    """Ask a person a server's question; ``decline`` if no one can be asked."""
    from mcp_types import ElicitResult

    if ctx is None or not ctx.interactive:
        return ElicitResult(action="decline")
    try:
        message = await ctx.read(
            strip_hidden(str(params.message))[:MAX_TEXT_CHARS], f"mcp {server}", "mcp"
        )
    except HooklineError:
        return ElicitResult(action="decline")
    question = f"The MCP server {server} asks: {message}"
    if params.mode == "url":
        answer = await _ask_choice(
            ctx, f"{question}\nOpen this address: {params.url}", [OPENED, DECLINE]
        )
        return ElicitResult(action="accept" if answer == OPENED else "decline")
    schema = params.requested_schema
    fields = dict(schema.get("properties") or {})
    if len(fields) > MAX_FIELDS:
        return ElicitResult(action="decline")
    asked = {name: field for name, field in fields.items() if _choices(field)}
    if all("default" in field for field in fields.values()):
        asked = {}
    values = {
        name: field["default"]
        for name, field in fields.items()
        if "default" in field and name not in asked
    }
    needed = [name for name in schema.get("required") or () if name not in asked | values]
    for name in needed:
        field = fields.get(name, {})
        answer = await _ask_text(ctx, f"{question}\n{_label(name, field)}", field)
        if answer is None:
            labels = ", ".join(_label(one, fields.get(one, {})) for one in needed)
            ctx.stash.setdefault(UNANSWERED, []).append(f"{message} ({labels})")
            ctx.notify(f"{question}\nDeclined: no one entered {labels}.")
            return ElicitResult(action="decline")
        values[name] = answer
    if not asked and not needed:
        answer = await _ask_choice(
            ctx, f"{question}{_describe_defaults(fields, values)}", [ACCEPT, DECLINE]
        )
        if answer != ACCEPT:
            return ElicitResult(action="decline")
    for name, field in asked.items():
        answer = await _ask_choice(
            ctx, f"{question}\n{_label(name, field)}", [*_choices(field), DECLINE]
        )
        if answer is None or answer == DECLINE:
            return ElicitResult(action="decline")
        values[name] = _choice_value(field, answer)
    return ElicitResult(action="accept", content=values)


async def _ask_choice(ctx: Context, text: str, choices: list[str]) -> str | None:
    return await ctx.ask(Question(text, tuple(choices)))


async def _ask_text(ctx: Context, text: str, field: Mapping[str, Any]) -> Any:
    """Return what a person writes, in the field's type; None if no one writes."""
    why = ""
    for _ in range(MAX_ATTEMPTS):
        answer = await ctx.ask(Question(f"{text}{why}"))
        if answer is None or not answer.strip():
            return None
        try:
            return _convert_answer(answer.strip(), field)
        except ValueError as error:
            why = f"\nInvalid answer: {error}."
    return None


def _convert_answer(answer: str, field: Mapping[str, Any]) -> Any:
    """The answer in the field's type. Raises ``ValueError`` with the reason."""
    kind = field.get("type", "string")
    if kind in ("integer", "number"):
        try:
            value: float = int(answer) if kind == "integer" else float(answer)
        except ValueError:
            raise ValueError(f"enter {'a whole' if kind == 'integer' else 'a'} number") from None
        if not math.isfinite(value):
            raise ValueError("enter a number")
        if isinstance(least := field.get("minimum"), int | float) and value < least:
            raise ValueError(f"the minimum is {least:g}")
        if isinstance(most := field.get("maximum"), int | float) and value > most:
            raise ValueError(f"the maximum is {most:g}")
        return value
    if kind != "string":
        raise ValueError("only text and numbers can be entered")
    if isinstance(least := field.get("minLength"), int) and len(answer) < least:
        raise ValueError(f"enter at least {least} characters")
    if isinstance(most := field.get("maxLength"), int) and len(answer) > most:
        raise ValueError(f"enter at most {most} characters")
    return answer


def _describe_defaults(fields: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    lines = [
        f"{strip_hidden(str(fields[name].get('title') or name))[:80]}: {json.dumps(value)[:200]}"
        for name, value in values.items()
    ]
    return "".join(f"\n{line}" for line in lines)


def _label(name: str, field: Mapping[str, Any]) -> str:
    label = str(field.get("title") or name)
    if field.get("description"):
        label += f" ({field['description']})"
    if "default" in field:
        label += f" [{json.dumps(field['default'])}]"
    return strip_hidden(label)[:300]


def _options(field: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values and labels of a field: ``enum`` with ``enumNames``, or ``oneOf`` with titles."""
    if isinstance(field.get("enum"), list):
        values = [str(one) for one in field["enum"]]
        names = field.get("enumNames")
        labels = [str(one) for one in names] if isinstance(names, list) else values
        return list(zip(values, labels, strict=False))[:MAX_CHOICES]
    if isinstance(field.get("oneOf"), list):
        found = [one for one in field["oneOf"] if isinstance(one, dict) and "const" in one]
        return [(str(one["const"]), str(one.get("title", one["const"]))) for one in found]
    return []


def _choices(field: Mapping[str, Any]) -> list[str]:
    if field.get("type") == "boolean":
        return [_TRUE, _FALSE]
    return [strip_hidden(label)[:80] for _, label in _options(field)]


def _choice_value(field: Mapping[str, Any], answer: str) -> Any:
    """The value that a choice stands for."""
    if field.get("type") == "boolean":
        return answer == _TRUE
    return next(value for value, label in _options(field) if strip_hidden(label)[:80] == answer)
