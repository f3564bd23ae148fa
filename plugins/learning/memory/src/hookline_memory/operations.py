"""The tool ``memory``: its schema, and parsing a call into operations."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import InvalidOperation
from .facts import CATEGORIES
from .text import one_line, storable

NOTE_ACTIONS = ("add", "replace", "remove")
ACTIONS = (*NOTE_ACTIONS, "remember", "recall", "forget", "batch")
MAX_TTL_DAYS = 1_000_000
"""Days after which a fact may expire."""
MAX_BATCH_OPERATIONS = 50
"""Operations of one batch."""
REQUIRED_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "add": ("content",),
    "replace": ("old_text", "content"),
    "remove": ("old_text",),
    "remember": ("content",),
    "forget": ("old_text",),
    "recall": ("query",),
}
"""The text arguments that each action needs."""
DESCRIPTION = (
    "Long-term memory. Notes (add, replace, remove): in the prompt of every later session, so few "
    "and short. Facts (remember, recall, forget): found when they fit, in this chat only."
)
PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"enum": list(ACTIONS)},
        "content": {"type": "string"},
        "old_text": {"type": "string", "description": "part of the entry meant"},
        "query": {"type": "string"},
        "category": {"enum": list(CATEGORIES)},
        "ttl_days": {"type": "number"},
        "operations": {
            "type": "array",
            "items": {"type": "object"},
            "description": "batch: calls like this, all or none",
        },
    },
    "required": ["action"],
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One change. Arguments that the action does not take are empty; ``ttl`` is in seconds."""

    action: str
    content: str = ""
    old_text: str = ""
    category: str = "knowledge"
    ttl: float | None = None


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A query for facts."""

    query: str


def parse(arguments: Mapping[str, Any]) -> RecallQuery | list[Operation]:
    """Parse a call's arguments.

    Raises:
        InvalidOperation: an argument is missing, unknown or of the wrong type; the text names it.
    """
    arguments = {name: value for name, value in arguments.items() if value is not None}
    _check_names(arguments)
    action = arguments.get("action", "batch" if "operations" in arguments else None)
    if action == "batch":
        return _batch(arguments)
    if "operations" in arguments:
        raise InvalidOperation("operations belong to action batch")
    if _action(action) == "recall":
        return RecallQuery(_text(arguments, "query", "recall"))
    return [_operation(arguments)]


def _batch(arguments: Mapping[str, Any]) -> list[Operation]:
    items = arguments.get("operations")
    if isinstance(items, str):  # some models send nested arguments as JSON text
        try:
            items = json.loads(items)
        except ValueError:
            raise InvalidOperation("operations must be a list of objects") from None
    if not isinstance(items, list) or not items:
        raise InvalidOperation(
            'batch needs operations, a list such as [{"action": "remove", "old_text": "…"}]'
        )
    if len(items) > MAX_BATCH_OPERATIONS:
        raise InvalidOperation(
            f"a batch has at most {MAX_BATCH_OPERATIONS} operations, not {len(items)}"
        )
    extra = sorted(set(arguments) - {"action", "operations"})
    if extra:
        raise InvalidOperation(f"in a batch, put {', '.join(extra)} into an operation")
    return [_numbered(number, item) for number, item in enumerate(items, 1)]


def _numbered(number: int, item: Any) -> Operation:
    try:
        if not isinstance(item, dict):
            raise InvalidOperation(f"expected an object with an action, got {_type_name(item)}")
        arguments = {name: value for name, value in item.items() if value is not None}
        _check_names(arguments)
        if "operations" in arguments or _action(arguments.get("action")) in ("batch", "recall"):
            raise InvalidOperation("action must be add, replace, remove, remember or forget")
        return _operation(arguments)
    except InvalidOperation as error:
        raise InvalidOperation(f"operation {number}: {error}") from None


def _operation(arguments: Mapping[str, Any]) -> Operation:
    action = _action(arguments.get("action"))
    texts = {name: _text(arguments, name, action) for name in REQUIRED_ARGUMENTS[action]}
    return Operation(action, category=_category(arguments), ttl=_ttl(arguments, action), **texts)


def _check_names(arguments: Mapping[str, Any]) -> None:
    known = list(PARAMETERS["properties"])
    for name in arguments:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
            raise InvalidOperation(f"memory has no argument {one_line(str(name), 40)!r}; {hint}")


def _action(value: Any) -> str:
    if isinstance(value, str) and value.strip().lower() in ACTIONS:
        return value.strip().lower()
    got = f", not {_describe(value)}" if value is not None else ""
    raise InvalidOperation(f"action must be one of {', '.join(ACTIONS)}{got}")


def _text(arguments: Mapping[str, Any], name: str, action: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        got = f", not {_type_name(value)}" if value is not None else ""
        raise InvalidOperation(f"{action} needs {name}, a string{got}")
    if not value.strip():
        raise InvalidOperation(f"{action} needs {name}; it is empty")
    return storable(value)


def _category(arguments: Mapping[str, Any]) -> str:
    value = arguments.get("category", "knowledge")
    if isinstance(value, str) and value.strip().lower() in CATEGORIES:
        return value.strip().lower()
    raise InvalidOperation(
        f"category must be one of {', '.join(CATEGORIES)}, not {_describe(value)}"
    )


def _ttl(arguments: Mapping[str, Any], action: str) -> float | None:
    value = arguments.get("ttl_days")
    if value is None:
        return None
    if action != "remember":
        raise InvalidOperation(f"ttl_days is for remember, not for {action}")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < value <= MAX_TTL_DAYS:  # also false for nan and infinity
        raise InvalidOperation(
            f"ttl_days must be a positive number of days, at most {MAX_TTL_DAYS:,}, not "
            f"{_describe(value)}; omit it for a fact that does not expire"
        )
    return float(value) * 86_400


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    kinds = {int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return kinds.get(type(value), "nothing")


def _describe(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return _type_name(value)
    return one_line(repr(value), 40)
