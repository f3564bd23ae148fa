"""Guesses what the arguments of a tool decide, from formats and names in its schema.

For the tool of an MCP server, a guess only makes a question more precise: the tool still counts as
able to do anything. To authors it shows what they may have left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .sinks import Sink, SinkKind
from .tools import Tool

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
DECIDING: frozenset[SinkKind] = frozenset({"recipient", "target", "amount", "credential", "code"})
"""What an author is asked to declare; content and times are declared where others read them."""
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


def missing_declarations(tool: Tool) -> list[str]:
    """What the author of a tool that does more than read has not declared, a sentence each.

    Without it, each call needs approval in a conversation that has read from outside, and shows
    less than it could.
    """
    declared = tool.argument_sinks
    if tool.read_only or tool.bridge or any(sink.guessed for sink in declared.values()):
        return []
    found = []
    if tool.effects is None:
        found.append(
            f"tool {tool.name} declares no effects, so it counts as able to do anything: add "
            'effects=("write",), or what it does, to @tool'
        )
    if tool.origin is None:
        found.append(
            f"tool {tool.name} declares no origin, so its results count as from outside: add "
            'origin="outside", or "workspace" if they hold nothing that others wrote, to @tool'
        )
    if callable(tool.effects):
        return found  # it says for each call what that is done to
    for name, sink in guess_sinks(tool.schema.parameters).items():
        if name not in declared and sink.kind in DECIDING:
            kind = sink.kind.capitalize()
            found.append(
                f"tool {tool.name}: the argument {name} looks like a {sink.kind}: annotate it, as "
                f"{name}: Annotated[str, {kind}()]"
            )
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
