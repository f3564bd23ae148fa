"""Shows forms with the editor's own (``elicitation/create``)."""

from __future__ import annotations

import json
from typing import Any

from acp import RequestError, schema
from hookline_hookspecs import Question
from hookline_hookspecs.forms import FormField
from hookline_hookspecs.visible_text import spell_out
from pydantic import ValidationError


async def fill_form(client: Any, session_id: str, question: Question) -> str | None:
    """Return the values that the person entered, as JSON, or the choice that declines.

    None if the editor shows no form.
    """
    form = schema.ElicitationSchema(
        properties={field.name: _property(field) for field in question.fields},
        required=[one.name for one in question.fields if one.required and one.default is None],
    )
    mode = schema.ElicitationFormSessionMode(session_id=session_id, requested_schema=form)
    text = spell_out("\n\n".join(filter(None, [question.text, question.preview])))
    try:
        answer = await client.create_elicitation(message=text, mode=mode)
    except (RequestError, ConnectionError, ValidationError, TypeError, AttributeError):
        return None
    values = getattr(answer, "content", None) or {}
    plain = all(isinstance(one, str | int | float | None) for one in values.values())
    if answer.action != "accept" or not plain:
        return question.choices[-1]
    return json.dumps(values)


def _property(field: FormField) -> Any:
    """The schema of a field, of which an editor makes a text box, a selector or a switch."""
    title, default = spell_out(field.label), field.default
    if field.type == "boolean":
        return schema.ElicitationBooleanPropertySchema(type="boolean", title=title, default=default)
    if field.type == "string":
        options = [
            schema.EnumOption(const=value, title=spell_out(label)) for value, label in field.options
        ]
        return schema.ElicitationStringPropertySchema(
            type="string",
            title=title,
            min_length=_count(field.minimum),
            max_length=_count(field.maximum),
            default=default,
            one_of=options or None,
        )
    limits: dict[str, Any] = {"minimum": field.minimum, "maximum": field.maximum}
    if field.type == "number":
        return schema.ElicitationNumberPropertySchema(
            type="number", title=title, default=default, **limits
        )
    whole: dict[str, Any] = {
        name: None if one is None else int(one) for name, one in limits.items()
    }
    return schema.ElicitationIntegerPropertySchema(
        type="integer", title=title, default=default, **whole
    )


def _count(limit: float | None) -> int | None:
    return None if limit is None else max(0, int(limit))
