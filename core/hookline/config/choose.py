"""Chooses the provider and model, and finds the provider's settings."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import NamedTuple

from hookline_hookspecs import ProviderSettings
from hookline_hookspecs.drivers import DriverOptions
from hookline_hookspecs.errors import ConfigError

from .drivers import find_driver
from .keys import nearest
from .load import Key, Loaded
from .model import ProviderConfig

NO_KEY = "none"
"""The key sent to a server that needs none."""


class NoModel(ConfigError):
    """No model is configured, and no environment variable selects a provider."""


class ModelChoice(NamedTuple):
    """A provider and its model, such as `anthropic` and `claude-sonnet-4-5`."""

    provider: str
    model: str


def split_model(name: str) -> ModelChoice:
    """Split `provider/model` at the first slash. `name` has been validated."""
    return ModelChoice(*name.partition("/")[::2])


def choose_model(loaded: Loaded) -> ModelChoice:
    """The configured model, or else a preset's.

    The preset is the first one with a key or an address in the environment, or else the first one
    with a key or an address in its section. Raises NoModel if there is none.
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
        "config.yaml. `hookline demo` works without one."
    )


def provider_settings(loaded: Loaded, provider: str) -> tuple[str, ProviderSettings]:
    """The driver and settings of `provider`, from its section, the environment and its preset.

    A provider without a preset uses the driver in its section, else the installed driver of the
    same name, else `openai` if it has an address. If an address is set without a key, the key is
    `none`. Raises ConfigError if the section has an error.
    """
    if provider in loaded.provider_errors:
        raise ConfigError(loaded.provider_errors[provider])
    section = loaded.config.providers.get(provider) or ProviderConfig()
    preset = loaded.presets.get(provider)
    driver = section.driver or (preset.driver if preset else _driver_named(provider, section))
    # Another account of a known service; a server at another address must not get the key.
    preset = preset or (None if section.base_url else loaded.presets.get(driver))
    address = section.base_url or (preset and loaded.env.get(preset.base_url_env))
    address = api_address(address) if address else address
    key_env = (preset and preset.key_env) or ""
    api_key = section.api_key and section.api_key.get_secret_value()
    resolved = loaded.source.resolved(
        {"api_key": api_key, "headers": section.headers}, ("providers", provider)
    )
    key = resolved["api_key"] or loaded.env.get(key_env)
    if not key and (address or (preset and not key_env)):
        key = NO_KEY
    base_url, options = address or (preset.base_url if preset else None), section.model_extra or {}
    home = loaded.path.parent
    return driver, ProviderSettings(
        provider, base_url, key or "", resolved["headers"], options, key_env, home
    )


def _driver_named(provider: str, section: ProviderConfig) -> str:
    """The driver of a provider that has neither a preset nor the option ``driver``."""
    is_installed = provider in entry_points(group="hookline.providers").names
    return "openai" if section.base_url and not is_installed else provider


def api_address(written: str) -> str:
    """Return the address of an API as people write it, such as ``127.0.0.1:1234/v1``.

    Quotation marks, slashes at the end and the path of an endpoint are left out. An address without
    a scheme gets ``http://``, or ``https://`` for a name: servers that people run themselves rarely
    have a certificate.
    """
    address = written.strip().strip("\"'").strip()
    address = re.sub(r"(?i)\A(https?):?/+", r"\1://", address)
    address = re.sub(r"(?:/+(?:(?:chat/)?completions|responses|messages))?/*\Z", "", address)
    if not address or "://" in address:
        return address
    host = address.partition("/")[0]
    name = host.rpartition(":")[0] or host
    is_own = "." not in name.rstrip(".") or name.strip("[]").replace(".", "").isdigit()
    return f"{'http' if is_own or name.startswith('[') else 'https'}://{address}"


def absent_drivers(loaded: Loaded) -> Iterator[str]:
    """A sentence for each provider in the config, and the store, whose driver is not installed."""
    config = loaded.config
    store, stores = config.store.split(":", 1)[0], entry_points(group="hookline.stores").names
    if store not in stores:
        guess = nearest(store, stores)
        hint = f"did you mean {guess}?" if guess else "install it with `hookline plugins install`"
        yield loaded.source.sentence(("store",), f"the store {store!r} is not installed; {hint}")
    models = {config.model: "model", config.auxiliary_model: "auxiliary_model"}
    models |= dict.fromkeys(config.fallback_models, "fallback_models")
    keys: dict[str, Key] = {split_model(m).provider: (key,) for m, key in models.items() if m}
    keys |= {name: ("providers", name, "driver") for name in config.providers}
    for name in keys.keys() - loaded.provider_errors:
        driver, _ = provider_settings(loaded, name)
        if driver not in entry_points(group="hookline.providers").names:
            yield loaded.source.sentence(keys[name], no_driver(loaded, driver))


def unknown_options(loaded: Loaded) -> Iterator[str]:
    """A sentence for each key of a provider's section that its driver does not know."""
    for name, section in loaded.config.providers.items():
        if name in loaded.provider_errors or not section.model_extra:
            continue
        driver = find_driver("hookline.providers", provider_settings(loaded, name)[0])
        if not isinstance(driver, DriverOptions):
            continue  # not installed, or it accepts any key
        known = {*ProviderConfig.model_fields, *driver.option_names}
        for key in section.model_extra.keys() - known:
            guess = nearest(key, known)
            hint = (
                f"; did you mean {guess}?" if guess else f"; known are {', '.join(sorted(known))}."
            )
            yield loaded.source.sentence(("providers", name, key), f"unknown key{hint}")


def no_driver(loaded: Loaded, name: str) -> str:
    """The error for a driver that is not installed, with what to do."""
    known = {
        *entry_points(group="hookline.providers").names,
        *loaded.presets,
        *loaded.config.providers,
    } - {name}
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else "install it with `hookline plugins install`"
    return f"provider {name!r} is not installed; {hint}"
