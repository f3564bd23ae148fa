"""A server's questions (elicitation), put to the person for whom it was called."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, HooklineError, Question

from .wire import visible

if TYPE_CHECKING:
    from mcp_types import ElicitResult

ACCEPT, DECLINE, OPENED = "Accept", "Decline", "I have opened it"
MOST_FIELDS = 12
MOST_CHOICES = 20
LONGEST = 1_000
"""Characters of a server's text that a person is shown."""
_TRUE, _FALSE = "Yes", "No"


async def elicited(server: str, ctx: Context | None, params: Any) -> ElicitResult:
    """Ask a person what a server wants to know; ``decline`` if nobody can be asked."""
    from mcp_types import ElicitResult

    if ctx is None or not ctx.interactive:
        return ElicitResult(action="decline")
    try:
        message = await ctx.read(visible(str(params.message))[:LONGEST], f"mcp {server}", "mcp")
    except HooklineError:
        return ElicitResult(action="decline")
    said = f"The MCP server {server} asks: {message}"
    if params.mode == "url":
        answer = await _asked(ctx, f"{said}\nOpen this address: {params.url}", [OPENED, DECLINE])
        return ElicitResult(action="accept" if answer == OPENED else "decline")
    schema = params.requested_schema
    fields = dict(schema.get("properties") or {})
    if len(fields) > MOST_FIELDS:
        return ElicitResult(action="decline")
    values: dict[str, Any] = {}
    required = schema.get("required") or ()
    if all("default" in field for field in fields.values()):
        answer = await _asked(ctx, f"{said}{_preset(fields)}", [ACCEPT, DECLINE])
        if answer != ACCEPT:
            return ElicitResult(action="decline")
        values = {name: field["default"] for name, field in fields.items()}
        return ElicitResult(action="accept", content=values)
    for name, field in fields.items():
        answer = await _asked(ctx, f"{said}\n{_label(name, field)}", [*_choices(field), DECLINE])
        if answer is None or answer == DECLINE:
            return ElicitResult(action="decline")
        value = _value(field, answer)
        if value is not None:
            values[name] = value
        elif name in required:
            return ElicitResult(action="decline")
    return ElicitResult(action="accept", content=values)


async def _asked(ctx: Context, text: str, choices: list[str]) -> str | None:
    return await ctx.ask(Question(text, tuple(choices)))


def _preset(fields: Mapping[str, Any]) -> str:
    if not fields:
        return ""
    lines = [
        f"{visible(str(field.get('title') or name))[:80]}: {json.dumps(field['default'])[:200]}"
        for name, field in fields.items()
    ]
    return "\n" + "\n".join(lines)


def _label(name: str, field: Mapping[str, Any]) -> str:
    label = str(field.get("title") or name)
    if field.get("description"):
        label += f" ({field['description']})"
    if "default" in field:
        label += f" [{json.dumps(field['default'])}]"
    return visible(label)[:300]


def _options(field: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values and labels of a choice: ``enum`` with ``enumNames``, ``oneOf`` with titles."""
    if isinstance(field.get("enum"), list):
        values = [str(one) for one in field["enum"]]
        names = field.get("enumNames")
        labels = [str(one) for one in names] if isinstance(names, list) else values
        return list(zip(values, labels, strict=False))[:MOST_CHOICES]
    if isinstance(field.get("oneOf"), list):
        found = [one for one in field["oneOf"] if isinstance(one, dict) and "const" in one]
        return [(str(one["const"]), str(one.get("title", one["const"]))) for one in found]
    return []


def _choices(field: Mapping[str, Any]) -> list[str]:
    if field.get("type") == "boolean":
        return [_TRUE, _FALSE]
    return [visible(label)[:80] for _, label in _options(field)]


def _value(field: Mapping[str, Any], answer: str) -> Any:
    """The answer as the field's type; None if it does not fit."""
    text, kind = answer.strip(), field.get("type")
    if kind == "boolean":
        return {_TRUE.casefold(): True, "true": True, _FALSE.casefold(): False, "false": False}.get(
            text.casefold()
        )
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            return None
    options = _options(field)
    if options:
        return next((value for value, label in options if text in (label, value)), None)
    if kind == "array":
        inner = field.get("items") or {}
        known = {str(one) for one in inner.get("enum") or ()}
        chosen = [one.strip() for one in text.split(",") if one.strip()]
        return chosen if not known or known.issuperset(chosen) else None
    return text or None
