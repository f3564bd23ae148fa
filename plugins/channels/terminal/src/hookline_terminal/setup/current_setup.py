"""The current setup of a home: its config.yaml, its .env, and the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookline_hookspecs import Configuration, HooklineError

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)", re.ASCII)
_REFERENCE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class CurrentSetup:
    """The current setup of a home.

    Attributes:
        text: the text of config.yaml; None without one.
        values: its settings, as written.
        model: the model that would be used now.
        dotenv: the variables of .env.
        problems: sentences about why the config cannot be used.
        readable: whether config.yaml can be parsed.
    """

    text: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    dotenv: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    readable: bool = True

    @property
    def env(self) -> dict[str, str]:
        """The variables that a command would have; the environment overrides .env."""
        return {**self.dotenv, **{name: value for name, value in os.environ.items() if value}}

    def section(self, kind: str, name: str) -> dict[str, Any]:
        """Return the settings ``kind.name``, as written; empty if there are none."""
        found = (self.values.get(kind) or {}).get(name)
        return dict(found) if isinstance(found, dict) else {}

    def variable(self, kind: str, name: str, key: str) -> str:
        """Return the variable of a setting that is written as ``${VAR}``; else an empty text."""
        found = _REFERENCE.fullmatch(str(self.section(kind, name).get(key, "")))
        return found[1] if found else ""

    def expanded(self, value: object) -> str:
        """Return a value with its ``${VAR}`` replaced; empty if it is not set."""
        if not isinstance(value, str):
            return ""
        env = self.env
        return _REFERENCE.sub(lambda found: env.get(found[1]) or found[2] or "", value)


def read_current_setup(home: Path, core: Configuration) -> CurrentSetup:
    """Read the setup of ``home``; errors are in ``problems``."""
    dotenv = read_env(home / ".env")
    path = home / "config.yaml"
    text: str | None = None
    values: dict[str, Any] = {}
    problems: tuple[str, ...] = ()
    try:
        if path.exists():
            text = path.read_bytes().decode("utf-8-sig")
            values = core.parse(text)
    except (HooklineError, OSError, ValueError) as error:
        problems = tuple(str(error).split("\n"))
        return CurrentSetup(None, {}, None, dotenv, problems, readable=False)
    try:
        core.check(text or "")
    except HooklineError as error:
        problems = tuple(str(error).split("\n"))
    values = {name: value for name, value in values.items() if value is not None}
    for kind in ("providers", "plugins"):
        if not isinstance(values.get(kind, {}), dict):
            del values[kind]
    return CurrentSetup(text, values, _model(values, core), dotenv, problems)


def _model(values: Mapping[str, Any], core: Configuration) -> str | None:
    written = values.get("model")
    if isinstance(written, str) and all(written.partition("/")):
        return written
    try:
        return core.default_model()
    except HooklineError:
        return None


def read_env(path: Path) -> dict[str, str]:
    """Return the variables that a ``.env`` sets; none if it cannot be read."""
    try:
        lines = path.read_text("utf-8-sig", "replace").split("\n")
    except OSError:
        return {}
    matches = [match for line in lines if (match := _LINE.match(line))]
    return {match[1]: value for match in matches if (value := _bare(match[2].strip()))}


def _bare(text: str) -> str:
    quote = text[:1]
    if quote in ("'", '"'):
        return text[1:].partition(quote)[0]
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
