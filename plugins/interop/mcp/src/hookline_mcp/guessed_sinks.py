"""Guesses what the arguments of a server's tool decide, from formats and names in its schema.

A guess only makes a question more precise: the tool still counts as able to do anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import Sink, SinkKind

MAX_ARGUMENTS = 100
"""Arguments of a tool that are looked at."""
_FORMATS: Mapping[str, SinkKind] = {
    "email": "recipient",
    "idn-email": "recipient",
    "uri": "recipient",
    "url": "recipient",
    "hostname": "recipient",
    "date": "when",
    "date-time": "when",
    "time": "when",
    "password": "credential",
}
"""Formats of JSON Schema (2020-12, validation, 7.3), and ``password`` and ``url`` of OpenAPI."""
_NAMES: tuple[tuple[SinkKind, str], ...] = (
    ("credential", "password|passwd|secret|token|credential|api key|passphrase|pin"),
    ("recipient", "to|cc|bcc|recipient|recipients|receiver|email|mail|phone|iban|account|url|uri"),
    ("recipient", "host|channel|invitee|invitees|participants|attendees|assignee|webhook|user"),
    ("amount", "amount|price|quantity|total|sum|budget"),
    ("code", "code|script|command|sql|expression|program"),
    ("content", "body|content|text|message|subject|title|description|comment|html|markdown"),
    ("when", "date|time|start|end|due|deadline|at|when|until"),
    ("target", "id|ids|path|file|filename|name|key|ref|branch|repo|resource|document|record"),
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def guess_sinks(parameters: Mapping[str, Any]) -> dict[str, Sink]:
    """Return what the arguments of a tool may decide, by name; each is marked as a guess."""
    properties = parameters.get("properties", {})
    found: dict[str, Sink] = {}
    for name, schema in list(properties.items())[:MAX_ARGUMENTS]:
        kind = _by_format(schema) or _by_name(name)
        if kind is not None:
            found[name] = Sink(kind, guessed=True)
    return found


def _by_format(schema: Any) -> SinkKind | None:
    if not isinstance(schema, Mapping):
        return None
    inner = schema.get("items")
    format_ = schema.get("format") or (inner.get("format") if isinstance(inner, Mapping) else None)
    return _FORMATS.get(format_) if isinstance(format_, str) else None


def _by_name(name: str) -> SinkKind | None:
    """The kind of a name: by the whole of it, or by its last word, as in ``recipient_email``."""
    words = [word.lower() for word in _WORDS.findall(name)]
    for known in (" ".join(words), *words[-1:]):
        for kind, names in _NAMES:
            if known in names.split("|"):
                return kind
    return None
