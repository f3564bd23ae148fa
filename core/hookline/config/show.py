"""The config as people see it: what is in effect, with secrets masked, and its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import SecretStr

from .load import Loaded
from .model import ConfigFile
from .problems import MASK, SECRET_NAME, mask_passwords


def effective(loaded: Loaded) -> dict[str, Any]:
    """What is in effect, as plain values for YAML or JSON; secrets are `********`.

    A plugin that has an error is false.
    """
    plugins = {
        name: (entry.settings or True) if entry.enabled else False
        for name, entry in loaded.plugins.items()
    }
    values = {**loaded.config.model_dump(), "plugins": plugins}
    # The longest first, so that no secret is left half masked by a shorter one inside it.
    return {
        name: _masked(value, name, sorted(loaded.secrets, key=len, reverse=True))
        for name, value in values.items()
    }


def _masked(value: Any, name: str, secrets: Iterable[str]) -> Any:
    if isinstance(value, dict):
        return {inner: _masked(v, inner, secrets) for inner, v in value.items()}
    if isinstance(value, list):
        return [_masked(inner, name, secrets) for inner in value]
    if isinstance(value, SecretStr) or (isinstance(value, str) and SECRET_NAME.search(name)):
        return MASK
    if not isinstance(value, str):
        return value
    for secret in secrets:
        value = value.replace(secret, MASK)
    return mask_passwords(value)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of config.yaml, with every key's description and default."""
    return ConfigFile.model_json_schema()
