"""Converts inbound messages, replies and questions to and from JSON."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from hookline_hookspecs import (
    Attachment,
    Audio,
    Choice,
    Inbound,
    Message,
    Origin,
    Question,
    Reply,
    Session,
    TextBlock,
)
from hookline_hookspecs.origins import origins_from_json, origins_to_json

from ..text import dump

log = logging.getLogger("hookline.store")
T = TypeVar("T")
LOST = Origin("outside", "unreadable stored data")
UNREADABLE = TextBlock("(This stored text cannot be read.)", origins=(LOST,))
"""Replaces the content of a damaged row. It counts as outside content: its origin is unknown."""
_NOT_STORED = {
    Inbound: ("system",),  # valid for a single turn only
    Reply: ("session", "id", "repeated", "delivered"),  # in columns of the outbox
}


def readable(what: str, read: Callable[[], T], otherwise: T) -> T:
    """Return ``read()``, or ``otherwise`` and log ``what`` if the stored row is damaged."""
    try:
        return read()
    except Exception as error:
        log.warning("%s cannot be read and is left unchanged: %r", what, error)
        return otherwise


def stored_message(row: Mapping[str, Any]) -> Message:
    """The message in a row (``seq role body context``), or a placeholder if it is damaged."""
    lost = Message("assistant" if row["role"] == "assistant" else "user", (UNREADABLE,))
    what = f"message {row['seq']} of turn {row['turn_id']}"
    return readable(
        what, lambda: Message.from_dict(json.loads(row["body"]), row["context"] or ""), lost
    )


def inbound_from_json(text: str) -> Inbound:
    """Return the message that :func:`to_json` encoded."""
    return Inbound(**_from_json(Inbound, text))


def stored_origins(call_id: str, text: str | None) -> tuple[Origin, ...]:
    """The origins of a step; an outside origin if they cannot be read."""
    outside: tuple[Origin, ...] = (LOST,)
    return readable(
        f"the origins of {call_id}", lambda: origins_from_json(json.loads(text or "[]")), outside
    )


def stored_inbound(row_id: str, text: str) -> Inbound | None:
    """The inbound message in a row; None if it cannot be read."""
    return readable(f"inbound message {row_id}", lambda: inbound_from_json(text), None)


def reply_from_json(text: str, session: Session, reply_id: str) -> Reply:
    """Return the reply that :func:`to_json` encoded, or a placeholder if it is damaged."""
    lost = Reply(session, UNREADABLE.text, id=reply_id)
    return readable(
        f"reply {reply_id}", lambda: Reply(session, id=reply_id, **_from_json(Reply, text)), lost
    )


def to_json(item: Inbound | Reply) -> str:
    """Encode a message or reply as compact JSON, attachments by path, without fields in columns."""
    data = {
        field.name: getattr(item, field.name)
        for field in fields(item)
        if field.name not in _NOT_STORED[type(item)]
        and (field.default is MISSING or getattr(item, field.name) != field.default)
    }
    return dump(
        {name: _CODED[name][0](value) if name in _CODED else value for name, value in data.items()}
    )


def _from_json(kind: type[Inbound | Reply], text: str) -> dict[str, Any]:
    """Decode the stored fields, ignoring those of a newer version."""
    known = {field.name for field in fields(kind)}
    data = {name: value for name, value in json.loads(text).items() if name in known}
    return {
        name: _CODED[name][1](value) if name in _CODED else value for name, value in data.items()
    }


def question_to_json(question: Question | None) -> str | None:
    """Encode an open question as compact JSON; None stays None."""
    if question is None:
        return None
    choices = [_choice_to_json(choice) for choice in question.choices]
    return dump({"text": question.text, "choices": choices})


def question_from_json(text: str | None) -> Question | None:
    """Return the question that :func:`question_to_json` encoded."""

    def read() -> Question | None:
        if not (data := json.loads(text or "null")):
            return None
        return Question(data["text"], tuple(map(_label_from_json, data["choices"])))

    return readable("an open question", read, None)


def _choice_to_json(choice: str | Choice) -> Any:
    return choice if isinstance(choice, str) else asdict(choice)


def _choice_from_json(data: Any) -> str | Choice:
    if isinstance(data, str):
        return data
    # Earlier versions wrote the value as "id".
    return Choice(data.get("value", data.get("id")), data["label"], data["style"])


def _label_from_json(data: Any) -> str:
    choice = _choice_from_json(data)
    return choice if isinstance(choice, str) else choice.label


def _file_to_dict(item: Attachment | Audio) -> dict[str, Any]:
    kind = "audio" if isinstance(item, Audio) else "file"
    data = {field.name: getattr(item, field.name) for field in fields(item)}
    data["path"] = str(item.path)
    data["origins"] = origins_to_json(item.origins)
    if isinstance(item, Audio):
        data["waveform"] = base64.b64encode(item.waveform).decode("ascii")
    return {"kind": kind, **data}


def _file_from_dict(data: Mapping[str, Any]) -> Attachment | Audio:
    kind = Audio if data["kind"] == "audio" else Attachment
    values = {field.name: data[field.name] for field in fields(kind) if field.name in data}
    values["path"] = Path(data["path"])
    values["origins"] = origins_from_json(data["origins"]) if "origins" in data else (LOST,)
    if kind is Audio:
        values["waveform"] = base64.b64decode(data.get("waveform", ""))
    return kind(**values)


_CODED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "attachments": (
        lambda files: [*map(_file_to_dict, files)],
        lambda data: tuple(map(_file_from_dict, data)),
    ),
    "choices": (
        lambda choices: [*map(_choice_to_json, choices)],
        lambda data: tuple(map(_choice_from_json, data)),
    ),
    "origins": (origins_to_json, origins_from_json),
    "earlier": (list, lambda data: tuple((str(author), str(text)) for author, text in data)),
    "workspace": (str, Path),
}
"""The encoder and decoder of each field that is not plain JSON."""
