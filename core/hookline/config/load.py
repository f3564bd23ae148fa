"""Reads a home's config: file, `.env`, environment and command line, in this order of strength.

What must stop a start raises ConfigError with all its sentences. What only concerns one plugin or
one provider is kept as that one's error; an unknown key is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from .document import Document, read_text
from .model import Config, ConfigFile, Preset
from .problems import NO_KEY, SECRET_NAME, ConfigError, Fault, Key, say, shown
from .settings import check_values
from .variables import expand, overlay_variables, read_dotenv

COMMAND_LINE = "the command line"
_SWITCH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """What config says of one plugin.

    `enabled` is False also when there is an `error`. `named`: config mentions it; `standard`: it
    is in the standard set. `line` is the one in config.yaml, if it stands there. `settings` are
    expanded but not yet validated, and without the key `enabled`.
    """

    name: str
    enabled: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    named: bool = False
    standard: bool = False
    line: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """A config that can be used.

    `plugins` are in call order. `lines` gives for a key, such as `("plugins", "memory")`, its line
    in config.yaml or the name of what set it instead. `env` is the environment with `.env` below
    it. `secrets` are the values to mask in whatever is shown. `provider_errors` are sentences about
    sections of `providers:` that matter only if that provider is used.
    """

    config: Config
    path: Path
    plugins: dict[str, PluginEntry]
    warnings: tuple[str, ...]
    presets: dict[str, Preset]
    secrets: frozenset[str] = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    lines: dict[Key, int | str]
    provider_errors: dict[str, str]


def load(home: Path, env: Mapping[str, str], overrides: Mapping[str, object] = _NOTHING) -> Loaded:
    """The config of `home`; without a config.yaml, or with an empty one, the defaults.

    `env` is the process environment. `overrides` come from command-line flags: keys may be dotted,
    None means that the flag was not given. Raises ConfigError.
    """
    path = home / "config.yaml"
    return load_text(read_text(path), path, env, overrides)


def load_text(
    text: str, path: Path, env: Mapping[str, str], overrides: Mapping[str, object] = _NOTHING
) -> Loaded:
    """As `load`, for a text that stands, or is to stand, at `path`. Raises ConfigError."""
    presets, standard = _defaults()
    dotenv, warnings = read_dotenv(path.parent / ".env")
    env = {**dotenv, **env}
    document = Document(path, text)
    known = {"plugins": standard, "providers": tuple(presets)}
    warnings += overlay_variables(document, env, known)
    unset = expand(document, env)
    for key, value in overrides.items():
        if value is not None:
            document.overlay(tuple(key.split(".")), value, COMMAND_LINE)
    unset = [(key, text) for key, text in unset if not _overridden(document, key)]

    values = document.values
    section = values.get("plugins") or {}
    plugins: dict[str, Any] = section if isinstance(section, dict) else {}
    core = {**values, "plugins": {}} if section is plugins else values
    checked, unknown, errors = check_values(ConfigFile, core, (), path, document.lines)
    faults = [*document.faults, *unset]
    fatal = [text for key, text in document.faults if key[:1] != ("plugins",) or len(key) < 2]
    fatal += [text for key, text in unset if len(key) < 2 or key[0] not in known]
    if checked is None or fatal:
        raise ConfigError(*fatal, *errors)
    return Loaded(
        config=Config.model_validate(checked.model_dump(exclude={"plugins"}, exclude_unset=True)),
        path=path,
        plugins=_entries(document, plugins, standard, faults),
        warnings=(*warnings, *unknown),
        presets=presets,
        secrets=frozenset(_secrets(values, "", env)),
        env=MappingProxyType(env),
        lines=document.lines,
        provider_errors={key[1]: text for key, text in reversed(unset) if key[0] == "providers"},
    )


@cache
def _defaults() -> tuple[dict[str, Preset], tuple[str, ...]]:
    """The presets and the standard plugins of defaults.yaml, both in order."""
    data = yaml.safe_load(files(__package__).joinpath("defaults.yaml").read_text("utf-8"))
    presets = {name: Preset.model_validate(preset) for name, preset in data["presets"].items()}
    return presets, tuple(data["standard"])


def _overridden(document: Document, key: Key) -> bool:
    return any(document.lines.get(key[:n]) == COMMAND_LINE for n in range(1, len(key) + 1))


def _entries(
    document: Document, plugins: dict[str, Any], standard: tuple[str, ...], faults: list[Fault]
) -> dict[str, PluginEntry]:
    """Every plugin of the standard set and of config, in call order."""
    told = [key[1] for key, _ in faults if key[0] == "plugins" and len(key) > 1]
    entries = {}
    for name in dict.fromkeys([*standard, *plugins, *told]):
        key = ("plugins", name)
        errors = [text for at, text in faults if at[:2] == key]
        value, settings = plugins.get(name), {}
        if isinstance(value, dict):
            settings = {setting: inner for setting, inner in value.items() if setting != "enabled"}
            value = value.get("enabled")
        on = _SWITCH.get(value.lower(), value) if isinstance(value, str) else value
        if on is not None and not isinstance(on, bool):
            found = f"found {shown(on, key)}, wanted true, false or a mapping of settings."
            errors.append(say(document.path, document.lines, key, found))
        line = document.lines.get(key)
        entries[name] = PluginEntry(
            name=name,
            enabled=on is not False and not errors,
            settings=settings,
            named=name in plugins or name in told,
            standard=name in standard,
            line=line if isinstance(line, int) else None,
            error="\n".join(errors) if errors and on is not False else None,
        )
    return entries


def _secrets(value: object, name: str, env: Mapping[str, str] = _NOTHING) -> Iterator[str]:
    """Texts under a key that is named like a secret, and such variables of `env`."""
    if isinstance(value, dict):
        for inner_name, inner in value.items():
            yield from _secrets(inner, inner_name)
    elif isinstance(value, list):
        for inner in value:
            yield from _secrets(inner, name)
    elif isinstance(value, str) and len(value) >= 4 and value != NO_KEY:
        yield from [value] if SECRET_NAME.search(name) else []
    # Shorter ones, or a switch among the variables, would be masked inside ordinary words.
    yield from (text for key, text in env.items() if len(text) >= 8 and SECRET_NAME.search(key))
