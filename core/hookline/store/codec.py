"""Inbound messages, replies and open questions as JSON, as the store holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from hookline_hookspecs import Attachment, Audio, Inbound, Question, Reply, Session

from ..text import dump

_PLAIN = tuple(f.name for f in fields(Inbound) if f.name not in ("attachments", "system"))
"""The system text of one turn is never stored."""


def inbound_to_json(inbound: Inbound) -> str:
    """The message as compact JSON; attachments by path."""
    data = {name: getattr(inbound, name) for name in _PLAIN}
    data = {name: value for name, value in data.items() if value is not None}
    if inbound.attachments:
        data["attachments"] = [_file_to_dict(item) for item in inbound.attachments]
    return dump(data)


def inbound_from_json(text: str) -> Inbound:
    """The message that :func:`inbound_to_json` wrote."""
    data = json.loads(text)
    attachments = tuple(_file_from_dict(item) for item in data.pop("attachments", ()))
    return Inbound(**data, attachments=attachments)


def reply_to_json(reply: Reply) -> str:
    """The reply as compact JSON, without its session."""
    data: dict[str, Any] = {"text": reply.text}
    if reply.attachments:
        data["attachments"] = [_file_to_dict(item) for item in reply.attachments]
    if reply.in_reply_to:
        data["in_reply_to"] = reply.in_reply_to
    if reply.choices:
        data["choices"] = reply.choices
    return dump(data)


def reply_from_json(text: str, session: Session, reply_id: str) -> Reply:
    """The reply that :func:`reply_to_json` wrote."""
    data = json.loads(text)
    files = tuple(_file_from_dict(item) for item in data.get("attachments", ()))
    choices = tuple(data.get("choices", ()))
    return Reply(session, data["text"], files, data.get("in_reply_to"), reply_id, choices)


def question_to_json(question: Question | None) -> str | None:
    """An open question for the store."""
    return dump({"text": question.text, "choices": question.choices}) if question else None


def question_from_json(text: str | None) -> Question | None:
    """The question that :func:`question_to_json` wrote."""
    data = json.loads(text or "null")
    return Question(data["text"], tuple(data["choices"])) if data else None


def _file_to_dict(item: Attachment | Audio) -> dict[str, Any]:
    kind = "audio" if isinstance(item, Audio) else "file"
    data = {f.name: getattr(item, f.name) for f in fields(item)}
    return {"kind": kind, **data, "path": str(item.path)}


def _file_from_dict(data: Mapping[str, Any]) -> Attachment | Audio:
    made = Audio if data["kind"] == "audio" else Attachment
    values = {f.name: data[f.name] for f in fields(made) if f.name in data}
    return made(**{**values, "path": Path(data["path"])})
