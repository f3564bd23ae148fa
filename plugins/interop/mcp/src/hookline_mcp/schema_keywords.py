"""Which keywords of a schema are valid, and how the others are read.

Providers check the schemas of a request, and refuse all of it over one that is not valid.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

MAX_VALUES = 250
"""Values of a property that are listed; more of them cost thousands of tokens in every request."""
MAX_NUMBER = 1e300
SHOWN_VALUES = 20
"""Values of a longer list that the description names."""
_TYPES = frozenset(["array", "boolean", "integer", "null", "number", "object", "string"])
_OTHER_TYPES = {
    "bool": "boolean",
    "dict": "object",
    "double": "number",
    "float": "number",
    "int": "integer",
    "list": "array",
    "none": "null",
    "str": "string",
}


def valid_type(written: Any) -> str:
    """Return the type that JSON schema has for a type as servers write it; empty for none."""
    name = written.lower() if isinstance(written, str) else ""
    name = _OTHER_TYPES.get(name, name)
    return name if name in _TYPES else ""


def valid_keywords(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without keywords whose value is not valid, and without long lists."""
    kept = {
        key: value
        for key, value in schema.items()
        if not key.startswith(("x-", "$")) and _IS_VALID.get(key, _is_json)(value)
    }
    values = kept.get("enum")
    if values is not None:
        values = kept["enum"] = list({json.dumps(one): one for one in values}.values())
        if len(values) > MAX_VALUES:
            del kept["enum"]
            shown = ", ".join(json.dumps(one, ensure_ascii=False) for one in values[:SHOWN_VALUES])
            about = f"{kept.get('description', '')}\nOne of {len(values)} values, such as {shown}."
            kept["description"] = about.strip()
    return kept


def _is_json(value: Any) -> bool:
    """False for infinite numbers, at any depth."""
    if isinstance(value, int | float):
        return _is_finite(value)
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    return not isinstance(value, list) or all(map(_is_json, value))


def _is_finite(value: float) -> bool:
    """False for what JSON readers with numbers of 64 bits do not take."""
    return abs(value) < MAX_NUMBER and not math.isnan(value)


def is_number(value: Any) -> bool:
    """Return whether a value is a number that other programs can read too."""
    return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and _is_json(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_IS_VALID: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), is_number),
    "multipleOf": lambda value: is_number(value) and value > 0,
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        _is_count,
    ),
    **dict.fromkeys(("title", "description", "pattern", "format"), _is_text),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated", "nullable"), _is_flag),
    **dict.fromkeys(("enum", "examples"), _is_list),
    "additionalProperties": lambda value: isinstance(value, bool | dict),
}
