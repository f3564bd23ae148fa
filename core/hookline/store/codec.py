"""Inbound messages and replies as JSON, for the inbox and the outbox."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from hookline_hookspecs import Attachment, Audio, Choice, Inbound, Question, Reply, Session

from ..text import dump

_NOT_STORED = {
    Inbound: ("system",),  # system text for a single turn
    Reply: ("session", "id", "repeated", "delivered"),  # columns of the outbox
}


def inbound_to_json(inbound: Inbound) -> str:
    """Return the message as compact JSON, with attachments by path."""
    return _to_json(inbound)


def inbound_from_json(text: str) -> Inbound:
    """Return the message that :func:`inbound_to_json` encoded."""
    return Inbound(**_from_json(Inbound, text))


def reply_to_json(reply: Reply) -> str:
    """Return the reply as compact JSON, without its session."""
    return _to_json(reply)


def reply_from_json(text: str, session: Session, reply_id: str) -> Reply:
    """Return the reply that :func:`reply_to_json` encoded."""
    return Reply(session, id=reply_id, **_from_json(Reply, text))


def _to_json(item: Inbound | Reply) -> str:
    data = {
        field.name: getattr(item, field.name)
        for field in fields(item)
        if field.name not in _NOT_STORED[type(item)]
        and (field.default is MISSING or getattr(item, field.name) != field.default)
    }
    if "attachments" in data:
        data["attachments"] = [_file_to_dict(file) for file in data["attachments"]]
    if "choices" in data:
        data["choices"] = [_choice_to_json(choice) for choice in data["choices"]]
    return dump(data)


def _from_json(kind: type[Inbound | Reply], text: str) -> dict[str, Any]:
    """Return the stored fields, ignoring those of a newer version."""
    known = {field.name for field in fields(kind)}
    data = {name: value for name, value in json.loads(text).items() if name in known}
    if "attachments" in data:
        data["attachments"] = tuple(_file_from_dict(file) for file in data["attachments"])
    if "choices" in data:
        data["choices"] = tuple(_choice_from_json(choice) for choice in data["choices"])
    return data


def question_to_json(question: Question | None) -> str | None:
    """Return an open question as compact JSON, or None."""
    if question is None:
        return None
    choices = [_choice_to_json(choice) for choice in question.choices]
    return dump({"text": question.text, "choices": choices})


def question_from_json(text: str | None) -> Question | None:
    """Return the question that :func:`question_to_json` encoded."""
    data = json.loads(text or "null")
    if not data:
        return None
    return Question(data["text"], tuple(_choice_from_json(choice) for choice in data["choices"]))


def _choice_to_json(choice: str) -> Any:
    if isinstance(choice, Choice):
        return {"id": choice.id, "label": choice.label, "style": choice.style}
    return choice


def _choice_from_json(data: Any) -> str:
    return data if isinstance(data, str) else Choice(**data)


def _file_to_dict(item: Attachment | Audio) -> dict[str, Any]:
    kind = "audio" if isinstance(item, Audio) else "file"
    data = {field.name: getattr(item, field.name) for field in fields(item)}
    data["path"] = str(item.path)
    if isinstance(item, Audio):
        data["waveform"] = base64.b64encode(item.waveform).decode("ascii")
    return {"kind": kind, **data}


def _file_from_dict(data: Mapping[str, Any]) -> Attachment | Audio:
    made = Audio if data["kind"] == "audio" else Attachment
    values = {field.name: data[field.name] for field in fields(made) if field.name in data}
    values["path"] = Path(data["path"])
    if made is Audio:
        values["waveform"] = base64.b64decode(data.get("waveform", ""))
    return made(**values)
