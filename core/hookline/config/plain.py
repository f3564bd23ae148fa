"""Reads the config where the package hookline-configfile is not installed: JSON alone.

JSON means the same in YAML. What only that package understands is refused, so that nothing in a
config is passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookline_hookspecs.errors import ConfigError, SettingsError
from pydantic import ValidationError

_SECRET = re.compile("KEY|TOKEN|SECRET|PASS", re.I)


@dataclass(frozen=True)
class PlainConfig:
    """What a home's config says; the fields and methods are those of ``hookline_configfile.Configured``."""

    path: Path
    values: dict[str, Any]
    env: dict[str, str] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)
    faults: Mapping[Any, str] = field(default_factory=dict)
    lines: Mapping[Any, Any] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def sentence(self, key: tuple[str, ...], text: str) -> str:
        """``text`` about ``key``."""
        return f"{self.path}: {'.'.join(key)}: {text}"

    def wrong(self, key: tuple[str, ...], _value: object, wanted: str) -> str:
        """A sentence about a value that is not what is ``wanted``."""
        return self.sentence(key, f"wanted {wanted}")

    def check(self, model: Any, values: Mapping[str, object], key: tuple[str, ...] = ()) -> tuple[Any, list[str]]:
        """The values as an instance of ``model``, and no warnings. Raises ``SettingsError``."""
        try:
            return model.model_validate(values), []
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            told = [self.sentence((*key, *map(str, one["loc"])), one["msg"]) for one in found]
            raise SettingsError(*told) from None

    def resolved(self, value: Any, _key: tuple[str, ...]) -> Any:
        """``value``; without the package, there are no references to a vault."""
        return value

    def masked(self, _values: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing: it is not known what of a config is secret."""
        return {}


def read(
    path: Path,
    env: Mapping[str, str],
    options: Mapping[str, object],
    text: str | None,
    *,
    keys: Collection[str],
    secret_variables: Collection[str],
) -> PlainConfig:
    """Read a JSON text, and options by dotted key. Raises ``ConfigError`` if there is more to read."""
    written = path.read_text("utf-8") if text is None and path.exists() else text or ""
    variables = [name for name in env if name.removeprefix("HOOKLINE_").partition("__")[0].lower() in keys]
    variables = [name for name in variables if name.startswith("HOOKLINE_") and env[name]]
    if variables or "${" in written or (text is None and (path.parent / ".env").exists()):
        _refuse(variables[0] if variables else path.parent if "${" not in written else path)
    values = parse(path, written or "{}")
    for name, value in [(name, value) for name, value in options.items() if value is not None]:
        *around, last = name.split(".")
        inner = values
        for part in around:
            inner = inner.setdefault(part, {})
        inner[last] = value
    secrets = [value for name, value in env.items() if _SECRET.search(name) or name in secret_variables]
    return PlainConfig(path, values, dict(env), frozenset(value for value in secrets if len(value) >= 8))


def parse(origin: Path | str, text: str, _key: tuple[str, ...] = ()) -> Any:
    """The values in a JSON text. Raises ``ConfigError``."""
    try:
        return json.loads(text)
    except ValueError:
        _refuse(origin)


def _refuse(origin: Path | str) -> None:
    told = "needs the package hookline-configfile, which is not installed; without it, only JSON in config.yaml is read"
    raise ConfigError(f"{origin}: what is written here {told}")
