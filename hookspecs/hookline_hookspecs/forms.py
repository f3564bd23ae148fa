"""Questions that ask for several values: their fields, and how an answer is read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

FieldType: TypeAlias = Literal["string", "integer", "number", "boolean"]
YES, NO = "Yes", "No"
_LINE = re.compile(r"\s*([^:\n]+?)\s*[:=]\s*(.*?)\s*")


@dataclass(frozen=True, slots=True)
class FormField:
    """A value that a question asks for.

    Attributes:
        name: the name of the value, and ``label`` what people read.
        type: the JSON type of the value.
        options: the allowed values, each with its label; empty if any value is allowed.
        required: it cannot be left out.
        default: the value if the person enters none; None without one.
        minimum: the smallest number, or for a text the smallest number of characters.
        maximum: the largest number, or for a text the largest number of characters.
    """

    name: str
    label: str
    type: FieldType = "string"
    options: tuple[tuple[str, str], ...] = ()
    required: bool = True
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """The labels of the allowed values."""
        if self.type == "boolean":
            return (YES, NO)
        return tuple(label for _, label in self.options)


def fields_to_json(fields: Sequence[FormField]) -> list[dict[str, Any]]:
    """Return the fields as JSON values."""
    return [asdict(field) for field in fields]


def fields_from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[FormField, ...]:
    """Return the fields that :func:`fields_to_json` has made."""
    pairs = [tuple((str(value), str(label)) for value, label in row["options"]) for row in rows]
    return tuple(
        FormField(**{**row, "options": pair}) for row, pair in zip(rows, pairs, strict=True)
    )


def read_value(typed: str, field: FormField) -> Any:
    """Return what a person typed for a field, in its type.

    Raises:
        ValueError: it is not a valid value; the message says what to enter.
    """
    text = typed.strip()
    if field.choices:
        return _read_option(text, field)
    if field.type in ("integer", "number"):
        return _read_number(text, field)
    if field.minimum is not None and len(text) < field.minimum:
        raise ValueError(f"enter at least {field.minimum:g} characters")
    if field.maximum is not None and len(text) > field.maximum:
        raise ValueError(f"enter at most {field.maximum:g} characters")
    return text


def _read_option(text: str, field: FormField) -> Any:
    values = [True, False] if field.type == "boolean" else [value for value, _ in field.options]
    for value, label in zip(values, field.choices, strict=True):
        if text.casefold() in (label.casefold(), str(value).casefold()):
            return value
    if text.isascii() and text.isdecimal() and 0 < int(text[:6]) <= len(values):
        return values[int(text[:6]) - 1]
    raise ValueError(f"enter one of: {', '.join(field.choices)}")


def _read_number(text: str, field: FormField) -> float:
    try:
        value: float = int(text) if field.type == "integer" else float(text)
    except ValueError:
        raise ValueError(f"enter {'a whole' if field.type == 'integer' else 'a'} number") from None
    if not math.isfinite(value):
        raise ValueError("enter a number")
    if field.minimum is not None and value < field.minimum:
        raise ValueError(f"the minimum is {field.minimum:g}")
    if field.maximum is not None and value > field.maximum:
        raise ValueError(f"the maximum is {field.maximum:g}")
    return value


def read_form(typed: str, fields: Sequence[FormField]) -> dict[str, Any]:
    """Return the values that a person typed: lines such as ``name: value``, or a JSON object.

    If only one value is needed, the text may be that value alone. Fields without a value get their
    default, or are left out.

    Raises:
        ValueError: a value is missing or invalid; the message says what to enter.
    """
    entered = _entered(typed, fields)
    values: dict[str, Any] = {}
    for field in fields:
        text = entered.get(field.name, "")
        if text.strip():
            try:
                values[field.name] = read_value(text, field)
            except ValueError as error:
                raise ValueError(f"{field.name}: {error}") from None
        elif field.default is not None:
            values[field.name] = field.default
        elif field.required:
            raise ValueError(f"{field.name} is missing: write `{field.name}: value`")
    return values


def _entered(typed: str, fields: Sequence[FormField]) -> dict[str, str]:
    """The texts by the names of the fields."""
    if typed.lstrip().startswith("{"):
        try:
            return {str(name): _as_text(value) for name, value in json.loads(typed).items()}
        except ValueError:
            raise ValueError("this is not a JSON object") from None
    names = {field.name.casefold(): field.name for field in fields}
    names |= {field.label.casefold(): field.name for field in fields}
    found: dict[str, str] = {}
    for line in typed.splitlines():
        match = _LINE.fullmatch(line)
        if match and match[1].casefold() in names:
            found[names[match[1].casefold()]] = match[2]
    needed = [field for field in fields if field.default is None and field.required]
    alone = needed if len(needed) == 1 else list(fields)
    if not found and len(alone) == 1:
        return {alone[0].name: typed}
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return YES if value else NO
    return "" if value is None else str(value)


def describe_field(field: FormField) -> str:
    """Return a line for people: name, label, allowed values and default."""
    parts = [f"{field.name}: {field.label}" if field.label != field.name else field.name]
    if field.choices:
        numbered = [f"{number} {label}" for number, label in enumerate(field.choices, 1)]
        parts.append(f"({', '.join(numbered)})")
    if field.default is not None:
        parts.append(f"[{json.dumps(field.default, ensure_ascii=False)}]")
    elif not field.required:
        parts.append("(optional)")
    return " ".join(parts)
