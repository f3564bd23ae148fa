"""Asks for a typed value with the editor's own form (``elicitation/create``)."""

from __future__ import annotations

from typing import Any

from acp import RequestError, schema
from hookline_hookspecs import Question
from hookline_hookspecs.visible_text import spell_out
from pydantic import ValidationError

FIELD = "answer"
"""The name of the form's only field."""


async def ask_text(client: Any, session_id: str, question: Question) -> str | None:
    """Return what the person typed; None if they declined, or the editor's answer is invalid."""
    field = schema.ElicitationStringPropertySchema(type="string", title="Answer")
    form = schema.ElicitationSchema(properties={FIELD: field}, required=[FIELD])
    mode = schema.ElicitationFormSessionMode(session_id=session_id, requested_schema=form)
    text = spell_out("\n\n".join(filter(None, [question.text, question.preview])))
    try:
        answer = await client.create_elicitation(message=text, mode=mode)
        typed = (answer.content or {}).get(FIELD) if answer.action == "accept" else None
    except (RequestError, ConnectionError, ValidationError, TypeError, AttributeError):
        return None
    return typed if isinstance(typed, str) else None
