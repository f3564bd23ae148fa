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
UNASKED = "unasked"
"""In a turn's stash: what servers wanted to know in words, which a question cannot bring."""


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
    asked = {name: field for name, field in fields.items() if _choices(field)}
    if all("default" in field for field in fields.values()):
        asked = {}
    values = {
        name: field["default"]
        for name, field in fields.items()
        if "default" in field and name not in asked
    }
    needed = [name for name in schema.get("required") or () if name not in asked | values]
    if needed:
        labels = ", ".join(_label(name, fields.get(name, {})) for name in needed)
        ctx.stash.setdefault(UNASKED, []).append(f"{message} ({labels})")
        ctx.notify(f"{said}\nIt wants words ({labels}), which cannot be given here: declined.")
        return ElicitResult(action="decline")
    if not asked:
        answer = await _asked(ctx, f"{said}{_preset(fields, values)}", [ACCEPT, DECLINE])
        if answer != ACCEPT:
            return ElicitResult(action="decline")
    for name, field in asked.items():
        answer = await _asked(ctx, f"{said}\n{_label(name, field)}", [*_choices(field), DECLINE])
        if answer is None or answer == DECLINE:
            return ElicitResult(action="decline")
        values[name] = _value(field, answer)
    return ElicitResult(action="accept", content=values)


async def _asked(ctx: Context, text: str, choices: list[str]) -> str | None:
    return await ctx.ask(Question(text, tuple(choices)))


def _preset(fields: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    lines = [
        f"{visible(str(fields[name].get('title') or name))[:80]}: {json.dumps(value)[:200]}"
        for name, value in values.items()
    ]
    return "".join(f"\n{line}" for line in lines)


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
    """The value that a choice stands for."""
    if field.get("type") == "boolean":
        return answer == _TRUE
    return next(value for value, label in _options(field) if visible(label)[:80] == answer)
