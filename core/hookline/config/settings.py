"""Values against a pydantic model, told in sentences: the core's config and plugins' settings.

Before pydantic sees them the values are sifted: unknown keys are taken out and warned about, an
empty key stands for its default, and what pydantic would wave through though it is a slip (`012`
or `true` for a number) is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from .problems import Key, Lines, SettingsError, nearest, say, shown

if TYPE_CHECKING:
    from .load import PluginEntry

M = TypeVar("M", bound=BaseModel)

_LEADING_ZERO = re.compile(r"\s*[-+]?0[\d_]+(\.\d*)?\s*")
_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text (put it in quotes)",
    "list": "a list",
    "dict": "a mapping",
    "model": "a mapping",
    "mapping": "a mapping",
}
_BY_NAME = ("_type", "_parsing", "_from_float", "_attributes_type", "_sub_type")


def validate_settings(
    model: type[BaseModel], entry: PluginEntry, path: Path, lines: Lines
) -> tuple[BaseModel, list[str]]:
    """A plugin's settings as its own model, and warnings about keys that the model lacks.

    `path` and `lines` are those of `Loaded`. Raises SettingsError with a sentence for each fault.
    """
    key = ("plugins", entry.name)
    settings, warnings, errors = check_values(model, entry.settings, key, path, lines)
    if settings is None:
        raise SettingsError(*errors)
    return settings, warnings


def check_values(
    model: type[M], values: Mapping[str, object], key: Key, path: Path, lines: Lines
) -> tuple[M | None, list[str], list[str]]:
    """The model's instance (None if a value is wrong), warnings and errors; `values` are at `key`.

    Never raises for what a user wrote.
    """
    sieve = _Sieve(path, lines)
    sifted = sieve.section(model, values, key)
    try:
        instance = model.model_validate(sifted)
    except ValidationError as error:
        faults = [*sieve.errors, *_sentences(error, sifted, key, path, lines)]
        return None, sieve.warnings, list(dict.fromkeys(faults))
    return (None if sieve.errors else instance), sieve.warnings, sieve.errors


class _Sieve:
    """Walks values along a model's types, collecting warnings and errors."""

    def __init__(self, path: Path, lines: Lines) -> None:
        self.path = path
        self.lines = lines
        self.warnings: list[str] = []
        self.errors: list[str] = []

    def section(self, model: type[BaseModel], values: Mapping[str, object], key: Key) -> object:
        """`values` without the keys that `model` lacks and those left empty."""
        fields = {
            name: field for f, field in model.model_fields.items() for name in _names(f, field)
        }
        kept: dict[str, object] = {}
        for name, value in values.items():
            field = fields.get(name)
            if field is None and model.model_config.get("extra") == "allow":
                kept[name] = value
            elif field is None:
                guess = nearest(name, fields)
                text = f"unknown key; did you mean {guess}?" if guess else "unknown key, ignored."
                self.warnings.append(say(self.path, self.lines, (*key, name), text))
            else:
                kinds = set(_kinds(field.annotation))
                if value is not None or kinds & {NoneType, Any}:
                    kept[name] = self.value(kinds, value, (*key, name))
        return kept

    def value(self, kinds: set[Any], value: object, key: Key) -> object:
        """`value`, sifted as the one of `kinds` that has its shape."""
        models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if len(models) == 1 and (
            isinstance(value, dict) or (value is None and NoneType not in kinds)
        ):
            return self.section(models[0], value or {}, key)
        if isinstance(value, dict | list):
            shape = [get_args(kind) for kind in kinds if get_origin(kind) is type(value)]
            if len(shape) != 1:
                return value
            inner = set(_kinds(shape[0][-1]))
            if isinstance(value, dict):
                return {k: self.value(inner, v, (*key, k)) for k, v in value.items()}
            return [self.value(inner, v, (*key, str(i))) for i, v in enumerate(value)]
        slip = isinstance(value, bool) or _LEADING_ZERO.fullmatch(str(value))
        if slip and kinds & {int, float} and not kinds & {type(value), Any}:
            text = f"found {shown(value, key)}, wanted a number without leading zeros."
            self.errors.append(say(self.path, self.lines, key, text))
        return value


def _names(name: str, field: FieldInfo) -> set[str]:
    return {name} | {a for a in (field.alias, field.validation_alias) if isinstance(a, str)}


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types that an annotation allows, without its unions and notes."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _kinds(part)
    elif origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    else:
        yield annotation


def _sentences(
    error: ValidationError, values: object, base: Key, path: Path, lines: Lines
) -> Iterator[str]:
    """One sentence for each wrong value, though a union reports it once for each of its types."""
    wanted: dict[Key, list[str]] = {}
    found: dict[Key, object] = {}
    for fault in error.errors(include_url=False, include_context=False):
        key, value = base, cast(Any, values)
        for part in fault["loc"]:
            try:
                value = value[part]
            except (LookupError, TypeError):  # a part that only names a type of a union
                if fault["type"] == "missing":
                    key, value = (*key, str(part)), error
                break
            key = (*key, str(part))
        found[key] = value
        wanted.setdefault(key, []).append(_wanted(fault["type"], fault["msg"]))
    for key, kinds in wanted.items():
        either = " or ".join(dict.fromkeys(kinds))
        text = f"found {shown(found[key], key)}, wanted {either}."
        yield say(path, lines, key, "is missing." if found[key] is error else text)


def _wanted(kind: str, message: str) -> str:
    for ending in _BY_NAME:
        if kind.endswith(ending) and kind.removesuffix(ending) in _WANTED:
            return _WANTED[kind.removesuffix(ending)]
    return re.sub(r"^(Value error, |Assertion failed, |Input should be )", "", message)
