"""Which provider and model answer, and how that provider is reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from pydantic import SecretStr

from .load import Loaded
from .model import ProviderConfig
from .problems import NO_KEY, ConfigError, NoModel, nearest, say


class ModelChoice(NamedTuple):
    """A provider and its model: `anthropic`, `claude-sonnet-4-5`."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What a driver needs to reach its provider. `options` are the driver's own.

    `base_url` and `api_key` are None where nothing gives one; the key is `none` for a server whose
    address was given without a key.
    """

    driver: str
    base_url: str | None = None
    api_key: SecretStr | None = None
    headers: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def split_model(name: str) -> ModelChoice:
    """`provider/model` at its first slash. `name` is a validated one."""
    provider, _, model = name.partition("/")
    return ModelChoice(provider, model)


def choose_model(loaded: Loaded) -> ModelChoice:
    """The model of config, or that of the first preset that the environment gives a key or an
    address, or else of the first preset that has a section with one. Raises NoModel.
    """
    if loaded.config.model:
        return split_model(loaded.config.model)
    presets, sections = loaded.presets, loaded.config.providers
    variables = {
        name: [v for v in (preset.key_env, preset.base_url_env) if v]
        for name, preset in presets.items()
    }
    ready = [name for name in presets if any(loaded.env.get(v) for v in variables[name])]
    ready += [n for n in presets if n in sections and (sections[n].api_key or sections[n].base_url)]
    if ready:
        return ModelChoice(ready[0], presets[ready[0]].model)
    listed = ", ".join(names[0] for names in variables.values())
    raise NoModel(
        f"No model is configured. Set one of {listed} in the environment or in "
        f"{loaded.path.parent / '.env'}, or `model: provider/model` in {loaded.path}. "
        "To look around without a key: hookline demo."
    )


def provider_settings(loaded: Loaded, provider: str) -> ProviderSettings:
    """How `provider` is reached: its section over the environment over its preset.

    A name that has neither section nor preset is a driver of that name, which needs nothing.
    Raises ConfigError if its section has an error, or if the name looks like a misspelt one.
    """
    if provider in loaded.provider_errors:
        raise ConfigError(loaded.provider_errors[provider])
    section = loaded.config.providers.get(provider)
    preset = loaded.presets.get(provider)
    if section is None and preset is None:
        _refuse_misspelt(loaded, provider)
        return ProviderSettings(provider)
    section = section or ProviderConfig()
    driver = section.driver or (preset.driver if preset else _own_driver(provider, section))
    if preset is None and not section.base_url:
        # A second account with a known service. With an address of its own it gets no other's key.
        preset = loaded.presets.get(driver)
    get = loaded.env.get
    given = section.base_url or (get(preset.base_url_env) if preset else None)
    key = section.api_key.get_secret_value() if section.api_key else None
    if not key and preset and preset.key_env:
        key = get(preset.key_env)
    if not key and (given or (preset and not preset.key_env)):
        key = NO_KEY
    return ProviderSettings(
        driver=driver,
        base_url=given or (preset.base_url if preset else None),
        api_key=SecretStr(key) if key else None,
        headers=dict(section.headers),
        options=dict(section.model_extra or {}),
    )


def _own_driver(provider: str, section: ProviderConfig) -> str:
    """A new provider with an address speaks OpenAI's language, unless a driver has its name."""
    return "openai" if section.base_url and not _installed(provider) else provider


def _installed(driver: str) -> bool:
    return bool(entry_points(group="hookline.providers", name=driver))


def _refuse_misspelt(loaded: Loaded, provider: str) -> None:
    guess = nearest(provider, [*loaded.presets, *loaded.config.providers], cutoff=0.75)
    if guess and not _installed(provider):
        text = f"there is no provider {provider}; did you mean {guess}?"
        raise ConfigError(say(loaded.path, loaded.lines, ("model",), text))
