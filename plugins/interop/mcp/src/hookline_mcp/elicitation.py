"""Asks the person for whom a server was called the server's questions (elicitation)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, HooklineError, Question
from hookline_hookspecs.forms import FormField

from .schema_keywords import is_number
from .tool_schema import strip_hidden

if TYPE_CHECKING:
    from mcp_types import ElicitResult

ACCEPT, DECLINE, OPENED = "Accept", "Decline", "I have opened it"
MAX_FIELDS = 12
MAX_CHOICES = 20
MAX_TEXT_CHARS = 1_000
"""Characters of a server's text shown to a person."""
MAX_LABEL_CHARS = 300
MAX_OPTION_CHARS = 80
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
    text = f"The MCP server {server} asks: {message}"
    if params.mode == "url":
        text += "\nOpen this address?"
        question = Question(text, (OPENED, DECLINE), str(params.url), kind="form")
        opened = await ctx.ask(question) == OPENED
        return ElicitResult(action="accept" if opened else "decline")
    fields = _fields(params.requested_schema)
    if fields is None:
        return ElicitResult(action="decline")
    values = await _ask_form(ctx, text, message, fields)
    if values is None:
        return ElicitResult(action="decline")
    return ElicitResult(action="accept", content=values)


async def _ask_form(
    ctx: Context, text: str, message: str, fields: tuple[FormField, ...]
) -> dict[str, Any] | None:
    """The values that a person entered; None if they declined or no one answered."""
    needed = [field for field in fields if field.required and field.default is None]
    choices = (DECLINE,) if needed else (ACCEPT, DECLINE)
    defaults = {field.label: field.default for field in fields if field.default is not None}
    shown = "".join(f"\n{label}: {json.dumps(value)[:200]}" for label, value in defaults.items())
    question = Question(f"{text}{'' if needed else shown}", choices, kind="form", fields=fields)
    answer = await ctx.ask(question)
    if answer is None and needed:
        labels = ", ".join(field.label for field in needed)
        ctx.stash.setdefault(UNANSWERED, []).append(f"{message} ({labels})")
        ctx.notify(f"{text}\nDeclined: no one entered {labels}.")
    if answer is None or answer == DECLINE:
        return None
    if answer == ACCEPT:
        return {field.name: field.default for field in fields if field.default is not None}
    return dict(json.loads(answer))


def _fields(schema: Mapping[str, Any]) -> tuple[FormField, ...] | None:
    """The fields of a schema; None if it has too many, or some that no one can enter."""
    properties = dict(schema.get("properties") or {})
    required = schema.get("required") or ()
    if len(properties) > MAX_FIELDS:
        return None
    made = [_field(name, one, required=name in required) for name, one in properties.items()]
    fields = [field for field in made if field is not None]
    if any(
        field is None and name in required for name, field in zip(properties, made, strict=True)
    ):
        return None
    return tuple(fields)


def _field(name: str, schema: Mapping[str, Any], *, required: bool) -> FormField | None:
    """A field; None for a type that cannot be entered as text."""
    type_ = schema.get("type", "string")
    if type_ not in ("string", "integer", "number", "boolean"):
        return None
    is_text = type_ == "string"
    limits = [
        schema.get("minLength" if is_text else "minimum"),
        schema.get("maxLength" if is_text else "maximum"),
    ]
    smallest, largest = [one if is_number(one) else None for one in limits]
    label = str(schema.get("title") or name)
    if schema.get("description"):
        label += f" ({schema['description']})"
    return FormField(
        name,
        strip_hidden(label)[:MAX_LABEL_CHARS],
        type_,
        tuple(_options(schema)) if is_text else (),
        required,
        schema.get("default"),
        smallest,
        largest,
    )


def _options(field: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values and labels of a field: ``enum`` with ``enumNames``, or ``oneOf`` with titles."""
    found: list[tuple[str, str]] = []
    if isinstance(field.get("enum"), list):
        values = [str(one) for one in field["enum"]]
        names = field.get("enumNames")
        labels = [str(one) for one in names] if isinstance(names, list) else values
        found = list(zip(values, labels, strict=False))
    elif isinstance(field.get("oneOf"), list):
        rows = [one for one in field["oneOf"] if isinstance(one, dict) and "const" in one]
        found = [(str(one["const"]), str(one.get("title", one["const"]))) for one in rows]
    return [(value, strip_hidden(label)[:MAX_OPTION_CHARS]) for value, label in found[:MAX_CHOICES]]
