"""Inspects a plugin's settings for the contract: required ones and secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

SECRET_NAME = re.compile(
    r"(?:^|_)(?:token|secret|password|passwd|api_?key|private_key|credentials?|webhook_secret)$"
)
"""Matches names of settings that hold a secret; not ``max_tokens`` or ``token_env``."""
CANARY = "canary-6f1d2c"
"""A recognizable secret to search for."""


def required(model: type[BaseModel]) -> list[str]:
    """Return the settings without a default, as named in ``config.yaml``."""
    fields = model.model_fields.items()
    return [field.alias or name for name, field in fields if field.is_required()]


def plain_secrets(model: type[BaseModel], where: str = "") -> Iterator[str]:
    """Yield the settings that are named like a secret but are plain text."""
    for name, field in model.model_fields.items():
        kinds = set(_kinds(field.annotation))
        if SECRET_NAME.search(name.lower()) and str in kinds and SecretStr not in kinds:
            yield where + name
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel) and kind is not model:
                yield from plain_secrets(kind, f"{where}{name}.")


def _kinds(annotation: Any) -> Iterator[Any]:
    """Yield the types in an annotation such as ``SecretStr | None``."""
    arguments = getattr(annotation, "__args__", ())
    if not arguments:
        yield annotation
    for argument in arguments:
        yield from _kinds(argument)


def with_canaries(model: type[BaseModel], settings: Mapping[str, Any]) -> BaseModel:
    """Return the settings with ``CANARY`` in every unset secret that accepts it."""
    filled = dict(settings)
    for name, field in model.model_fields.items():
        key = field.alias or name
        if SecretStr in set(_kinds(field.annotation)) and key not in filled:
            filled[key] = CANARY
            try:
                model.model_validate(filled)
            except ValidationError:  # it requires a secret of a certain format
                del filled[key]
    return model.model_validate(filled)


def secrets(value: Any) -> Iterator[str]:
    """Yield every secret in validated settings, in plain text."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, SecretBytes):
        yield value.get_secret_value().decode("utf-8", "replace")
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from secrets(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from secrets(item)
