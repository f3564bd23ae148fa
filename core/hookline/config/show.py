"""The config as people see it: what is in effect, with secrets masked, and its JSON Schema."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from .load import Loaded
from .model import ConfigFile
from .problems import MASK, Key, each, is_secret, mask_passwords


def effective(loaded: Loaded) -> dict[str, Any]:
    """What is in effect, as plain values for YAML or JSON; secrets are `********`.

    A plugin that has an error is false.
    """
    # The longest first, so that no secret is left half masked by a shorter one inside it.
    secrets = sorted(loaded.secrets, key=len, reverse=True)

    def masked(value: Any, key: Key) -> Any:
        if isinstance(value, str):
            for secret in secrets:
                value = value.replace(secret, MASK)
            return MASK if is_secret(key) else mask_passwords(value)
        return MASK if isinstance(value, SecretStr) else value

    entries = loaded.plugins.values()
    plugins = {entry.name: entry.enabled and (entry.settings or True) for entry in entries}
    shown: dict[str, Any] = each({**loaded.config.model_dump(), "plugins": plugins}, (), masked)
    return shown


def json_schema() -> dict[str, Any]:
    """The JSON Schema of config.yaml, with every key's description and default."""
    return ConfigFile.model_json_schema()
