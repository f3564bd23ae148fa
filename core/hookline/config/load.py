"""Reads a home's config: file, `.env`, environment and command line, the last one strongest.

Errors in the core's keys raise one ConfigError. An error in the section of a plugin or provider is
kept as that one's error, and an unknown key is a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from .document import Document, read_text
from .model import Config, ConfigFile, PluginEntry, Preset
from .problems import ConfigError, Key, SettingsError, map_scalars, sentence
from .secrets import MASK, SECRET_NAME, SPACE_AROUND, fault_of_secret, masked, quoted
from .settings import check_values
from .variables import expand, overlay_variables, read_dotenv

_LOCAL = ("plugins", "providers")
"""Sections in which an error stops only the plugin or provider that it is about."""
_SWITCH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid config.

    `plugins` are in call order. `lines` maps a key, such as `("plugins", "memory")`, to its line in
    config.yaml or to the name of what else set it. `env` is the environment, with the variables of
    `.env` that it does not set. `secrets` are values to mask in output. `provider_errors` are
    sentences by provider, which matter only if that provider is used.
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


def load(home: Path, env: Mapping[str, str], flags: Mapping[str, object] = {}, text: str | None = None) -> Loaded:
    """Load the config of `home`; the defaults if config.yaml is absent or empty.

    `env` is the process environment. `flags` are command-line options by dotted key; those that are
    None are ignored. `text` replaces the content of config.yaml. Raises ConfigError.
    """
    path = home / "config.yaml"
    presets, standard, _ = _defaults()
    unread: list[str] = []
    dotenv, warnings = read_dotenv(path.parent / ".env", unread)
    env = {**dotenv, **env}
    document = Document(path, read_text(path, unread) if text is None else text)
    overlay_variables(document, env)
    for key, value in flags.items():
        if value is not None:
            document.overlay(tuple(key.split(".")), value, "the command line")
    faults, secrets, short = expand(document, env)
    # Shorter ones, or a switch among the variables, would be masked inside ordinary words.
    secrets |= {text for name, text in env.items() if len(text) >= 8 and SECRET_NAME.search(name)}
    for name in {*filter(SECRET_NAME.search, dotenv), *(p.key_env or "" for p in presets.values())} & env.keys():
        place = path.parent / ".env" if env[name] == dotenv.get(name) else "the environment"
        if env[name] != env[name].strip():
            warnings.append(f"{place}: {name}: {SPACE_AROUND}")
            env[name] = env[name].strip()
        if fault := fault_of_secret(env[name], (name,)):
            faults[name, ""] = f"{place}: {name}: {fault}"
    stopping = [*dict.fromkeys(unread), *(faults[key] for key in faults if key[0] not in _LOCAL or len(key) == 1)]

    values = {name: value for name, value in document.values.items() if value is not None}
    plugins: Any = values.get("plugins", {})
    core = {**values, "plugins": {}} if isinstance(plugins, dict) else values
    try:
        config, unknown = check_values(ConfigFile, core, (), path, document.lines)
    except SettingsError as error:
        told = tuple(sentence(path, document.lines, key, "") for key in faults)
        stopping += [text for text in error.problems if not text.startswith(told)]
    if stopping:
        raise ConfigError(*stopping)
    return Loaded(
        config=config,
        path=path,
        plugins={name: _entry(("plugins", name), plugins, faults, document) for name in [*standard, *plugins]},
        warnings=(*warnings, *short, *unknown),
        presets=presets,
        secrets=frozenset(secrets),
        env=env,
        lines=document.lines,
        provider_errors={key[1]: faults[key] for key in reversed(faults) if key[0] == "providers"},
    )


def effective(loaded: Loaded) -> dict[str, Any]:
    """The config in effect, as plain values for YAML or JSON; secrets are `********`.

    A plugin that has an error is false.
    """
    # The longest first, so that no secret is left half masked by a shorter one inside it.
    secrets = sorted(loaded.secrets, key=len, reverse=True)

    def hide(value: Any, key: Key) -> Any:
        if not isinstance(value, str):
            return value
        for secret in secrets:
            value = value.replace(secret, MASK)
        return masked(value, key)

    plugins = {entry.name: entry.enabled and (entry.settings or True) for entry in loaded.plugins.values()}
    values = {**loaded.config.model_dump(mode="json"), "plugins": plugins}
    return {name: map_scalars(value, (name,), hide) for name, value in values.items()}


@cache
def _defaults() -> tuple[dict[str, Preset], tuple[str, ...], dict[str, dict[str, str | None]]]:
    """The presets and the standard plugins of defaults.yaml, both in order, and the commands."""
    data = yaml.load(files(__package__).joinpath("defaults.yaml").read_bytes(), Loader=yaml.CSafeLoader)
    presets = {name: Preset.model_validate(preset) for name, preset in data["presets"].items()}
    return presets, tuple(data["standard"]), data["commands"]


def plugin_commands() -> Mapping[str, Mapping[str, str | None]]:
    """The commands of Hookline's own plugins with their help, by plugin, known without importing them."""
    return _defaults()[2]


def _entry(key: Key, plugins: dict[str, Any], faults: dict[Key, str], document: Document) -> PluginEntry:
    """The entry of the plugin at `key`. `faults` are sentences by key, of any plugin."""
    value = plugins.get(key[1])
    settings = dict(value) if isinstance(value, dict) else {"enabled": value}
    on = settings.pop("enabled", None)
    on = _SWITCH.get(on.lower(), on) if isinstance(on, str) else on
    errors = [text for at, text in faults.items() if at[:2] == key]
    if not isinstance(on, bool | None) and not errors:
        found = f"found {quoted(on, key)}, wanted true, false or a mapping of settings."
        errors = [sentence(document.origin, document.lines, key, found)]
    return PluginEntry(
        name=key[1],
        enabled=on is not False and not errors,
        settings=settings,
        named=key[1] in plugins,
        standard=key[1] in _defaults()[1],
        error="\n".join(errors) if errors and on is not False else None,
    )
