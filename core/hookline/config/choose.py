"""Which provider and model answer, and how that provider is reached."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import NamedTuple

from hookline_hookspecs import ProviderSettings
from hookline_hookspecs.errors import ConfigError

from .load import Key, Loaded
from .model import ProviderConfig

NO_KEY = "none"
"""The key of a server that needs none."""


class NoModel(ConfigError):
    """No model is configured, and no variable names a provider."""


class ModelChoice(NamedTuple):
    """A provider and its model: `anthropic`, `claude-sonnet-4-5`."""

    provider: str
    model: str


def split_model(name: str) -> ModelChoice:
    """Split `provider/model` at the first slash. `name` has been validated."""
    return ModelChoice(*name.partition("/")[::2])


def choose_model(loaded: Loaded) -> ModelChoice:
    """The configured model, else that of a preset: the first one with a key or an address in the
    environment, else the first one with a key or an address in its section. Raises NoModel.
    """
    if loaded.config.model:
        return split_model(loaded.config.model)
    presets, sections, env = loaded.presets, loaded.config.providers, loaded.env
    ready = [n for n, p in presets.items() if env.get(p.key_env or "") or env.get(p.base_url_env)]
    ready += [n for n in presets if n in sections and (sections[n].api_key or sections[n].base_url)]
    if ready:
        return ModelChoice(ready[0], presets[ready[0]].model)
    keys = ", ".join([preset.key_env for preset in presets.values() if preset.key_env][:2])
    raise NoModel(
        f"No model is set up yet: run `hookline init`, or set a key ({keys} …) or `model:` in "
        "config.yaml. `hookline demo` needs none."
    )


def provider_settings(loaded: Loaded, provider: str) -> tuple[str, ProviderSettings]:
    """The driver of `provider`, and its settings: by its section, the environment and its preset.

    A provider without a preset uses the driver of its section, else `openai` if it has an address,
    else the driver of its own name. The key of a server whose address is set without a key is
    `none`. Raises ConfigError if its section has an error.
    """
    if provider in loaded.provider_errors:
        raise ConfigError(loaded.provider_errors[provider])
    section = loaded.config.providers.get(provider) or ProviderConfig()
    preset = loaded.presets.get(provider)
    driver = section.driver or (
        preset.driver if preset else "openai" if section.base_url else provider
    )
    # A second account with a known service; with an address of its own it must not get the key.
    preset = preset or (None if section.base_url else loaded.presets.get(driver))
    address = section.base_url or (preset and loaded.env.get(preset.base_url_env))
    key_env = (preset and preset.key_env) or ""
    given = section.api_key and section.api_key.get_secret_value()
    own = loaded.source.resolved(
        {"api_key": given, "headers": section.headers}, ("providers", provider)
    )
    key = own["api_key"] or loaded.env.get(key_env)
    if not key and (address or (preset and not key_env)):
        key = NO_KEY
    base_url, options = address or (preset.base_url if preset else None), section.model_extra or {}
    home = loaded.path.parent
    return driver, ProviderSettings(
        provider, base_url, key or "", own["headers"], options, key_env, home
    )


def absent_drivers(loaded: Loaded) -> Iterator[str]:
    """A sentence for each provider in the config whose driver is not installed."""
    config = loaded.config
    models = {config.model: "model", config.auxiliary_model: "auxiliary_model"}
    models |= dict.fromkeys(config.fallback_models, "fallback_models")
    keys: dict[str, Key] = {split_model(m).provider: (key,) for m, key in models.items() if m}
    keys |= {name: ("providers", name, "driver") for name in config.providers}
    for name in keys.keys() - loaded.provider_errors:
        driver, _ = provider_settings(loaded, name)
        if driver not in entry_points(group="hookline.providers").names:
            yield loaded.source.sentence(keys[name], no_driver(loaded, driver))


def no_driver(loaded: Loaded, name: str) -> str:
    """What is wrong with the driver `name`, which is not installed, and what to do."""
    known = {*entry_points(group="hookline.providers").names, *loaded.presets} - {name}
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else "`hookline plugins install` brings one"
    return f"no provider {name!r} is installed; {hint}"
