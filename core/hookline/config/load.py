"""Loads a home's config from the file, `.env`, environment and command line; the last one wins.

Errors in core's keys raise one ConfigError. An error in a plugin's or provider's section only
affects that plugin or provider, and an unknown key is a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from hookline_hookspecs.errors import ConfigError, SettingsError
from hookline_hookspecs.own_programs import add_writable_folder
from pydantic import BaseModel

from .document import Document
from .model import Config, ConfigFile, PluginEntry, Preset
from .plugin_files import files_from_command_line, files_in_home
from .project import apply_project, read_project, untrusted_reason
from .source import ConfigSource, read
from .trusted_folders import TrustedFolders

Key: TypeAlias = tuple[str, ...]
_LOCAL = ("plugins", "providers")
"""Sections in which an error affects only one plugin or provider."""
_SWITCH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid config.

    `plugins` are in call order. `lines` maps a key, such as `("plugins", "memory")`, to its line in
    config.yaml or to the name of the source that set it. `env` is the environment plus the
    variables of `.env` that it does not set. `secrets` are values to mask in output.
    `provider_errors` are sentences by provider; they matter only if the provider is used. `source`
    is the unvalidated config. `uses_project` says whether a project's settings may be part of it;
    `untrusted` says why those of the workspace are not, empty if they are or there are none.
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
    source: ConfigSource = field(repr=False)
    uses_project: bool = False
    untrusted: str = ""


def load(
    home: Path,
    env: Mapping[str, str],
    flags: Mapping[str, object] = {},
    text: str | None = None,
    *,
    uses_project: bool = False,
) -> Loaded:
    """Load the config of `home`, or the defaults if config.yaml is absent or empty.

    `env` is the process environment. `flags` are command-line options by dotted key; None means not
    given. `text` is used instead of the content of config.yaml. `uses_project`: the settings of the
    workspace apply too, if the person trusts it. Programs in the workspace and the allowed roots
    count as the model's from then on. Raises ConfigError.
    """
    path = home / "config.yaml"
    presets, standard = _defaults()
    known = {
        "keys": ConfigFile.model_fields,
        "secret_variables": {p.key_env or "" for p in presets.values()},
    }
    untrusted: list[str] = []
    project = partial(_add_project, home, presets, untrusted) if uses_project else _no_project
    source = read(path, env, flags, text, project=project, **known)
    faults = source.faults
    stopping = [
        *source.unreadable,
        *(faults[key] for key in faults if key[0] not in _LOCAL or len(key) == 1),
    ]

    values = {name: value for name, value in source.values.items() if value is not None}
    plugins: Any = values.get("plugins", {})
    core = {**values, "plugins": {}} if isinstance(plugins, dict) else values
    try:
        config, unknown = source.check(ConfigFile, core)
    except SettingsError as error:
        reported = tuple(source.sentence(key, "") for key in faults)
        stopping += [text for text in error.problems if not text.startswith(reported)]
    if stopping:
        raise ConfigError(*stopping)
    for folder in (config.workspace, *config.paths.allowed_roots):
        add_writable_folder(Path(folder).expanduser())
    entries = {name: _entry(("plugins", name), plugins, source) for name in [*standard, *plugins]}
    return Loaded(
        config=config,
        path=path,
        plugins=_with_files(entries, home, env, source),
        warnings=(*source.warnings, *unknown),
        presets=presets,
        secrets=source.secrets,
        env=source.env,
        lines=source.lines,
        provider_errors={key[1]: faults[key] for key in reversed(faults) if key[0] == "providers"},
        source=source,
        uses_project=uses_project,
        untrusted="".join(untrusted),
    )


def _no_project(_document: Document, _env: Mapping[str, str]) -> list[str]:
    return []


def _add_project(
    home: Path,
    presets: Mapping[str, Preset],
    untrusted: list[str],
    document: Document,
    env: Mapping[str, str],
) -> list[str]:
    """Add the settings of the workspace to the document; return warnings.

    If they are not trusted, the sentence about that is added to `untrusted` instead.
    """
    workspace = env.get("HOOKLINE_WORKSPACE") or document.values.get("workspace") or "."
    found = read_project(Path(str(workspace)), home)
    if found is None:
        return []
    trust = TrustedFolders(home)
    if reason := untrusted_reason(found, trust):
        untrusted.append(reason)
        return []

    def is_configured(provider: str) -> bool:
        preset = presets.get(provider)
        variables = (preset.key_env, preset.base_url_env) if preset else ()
        own = document.values.get("providers")
        return any(env.get(name or "") for name in variables) or (
            isinstance(own, dict) and provider in own
        )

    return apply_project(found, document, is_configured)


def validate_settings(
    model: type[BaseModel], entry: PluginEntry, loaded: Loaded
) -> tuple[Any, list[str]]:
    """A plugin's settings as an instance of its model, and warnings about unknown keys.

    Raises SettingsError with a sentence for each error.
    """
    return loaded.source.check(model, entry.settings, ("plugins", entry.name))


def effective(loaded: Loaded) -> dict[str, Any]:
    """The config in effect, as plain values for YAML or JSON; secrets are `********`.

    A plugin that has an error is false.
    """
    plugins = {
        entry.name: entry.enabled and (entry.settings or True) for entry in loaded.plugins.values()
    }
    return loaded.source.masked({**loaded.config.model_dump(mode="json"), "plugins": plugins})


@cache
def _defaults() -> tuple[dict[str, Preset], tuple[str, ...]]:
    """The presets and the standard plugins in defaults.yaml, in order."""
    data = yaml.load(
        files(__package__).joinpath("defaults.yaml").read_bytes(), Loader=yaml.CSafeLoader
    )
    presets = {name: Preset.model_validate(preset) for name, preset in data["presets"].items()}
    return presets, tuple(data["standard"])


def _with_files(
    entries: dict[str, PluginEntry], home: Path, env: Mapping[str, str], source: ConfigSource
) -> dict[str, PluginEntry]:
    """The entries, with those of plugin files; the command line names its own."""
    chosen = files_from_command_line(env)
    for name, file in (files_in_home(home) | chosen).items():
        entry = entries.get(name) or _entry(("plugins", name), {}, source)
        entries[name] = replace(entry, file=file, named=entry.named or name in chosen)
    return entries


def _entry(key: Key, plugins: dict[str, Any], source: ConfigSource) -> PluginEntry:
    """The entry of the plugin at `key`."""
    value = plugins.get(key[1])
    settings = dict(value) if isinstance(value, dict) else {"enabled": value}
    on = settings.pop("enabled", None)
    on = _SWITCH.get(on.lower(), on) if isinstance(on, str) else on
    errors = [text for at, text in source.faults.items() if at[:2] == key]
    if not isinstance(on, bool | None) and not errors:
        errors = [source.wrong(key, on, "true, false or a mapping of settings")]
    return PluginEntry(
        name=key[1],
        enabled=on is not False and not errors,
        settings=settings,
        named=key[1] in plugins,
        standard=key[1].partition(":")[0] in _defaults()[1],
        error="\n".join(errors) if errors and on is not False else None,
    )
