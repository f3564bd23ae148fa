"""Model providers: one driver each, imported when a model of it is first used."""

from __future__ import annotations

import difflib

from hookline_hookspecs import BadRequest, Provider, ProviderSettings

from .config import ConfigError, Loaded, choose_model, provider_settings, split_model
from .engine import find_driver

GROUP = "hookline.providers"
WINDOW = 128_000
"""Tokens an unknown model's window counts as (FEATURES, compaction)."""


class Providers:
    """Makes providers from config and keeps them."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._made: dict[str, Provider] = {}

    def default_model(self) -> str:
        """``provider/model`` of config or environment. Raises ``NoModel``."""
        return "/".join(choose_model(self._loaded))

    def get(self, model: str) -> Provider:
        """The provider of ``provider/model``. Raises ``BadRequest`` with what to do."""
        try:
            self.check(model)
        except ConfigError as error:
            raise BadRequest(str(error)) from error
        return self._made[split_model(model).provider]

    def window(self, model: str) -> int:
        """The window of ``provider/model`` in tokens, from the presets; else :data:`WINDOW`."""
        try:
            name, wanted = split_model(model or self.default_model())
        except ConfigError:
            return WINDOW
        preset = self._loaded.presets.get(name)
        known = {one.name: one.window for one in preset.models} if preset is not None else {}
        return known.get(wanted) or WINDOW

    def add(self, name: str, provider: Provider) -> None:
        """Use a provider that no driver made."""
        self._made[name] = provider

    def check(self, model: str) -> None:
        """Make the provider of ``model`` now. Raises ``ConfigError`` if it cannot be made."""
        name = split_model(model).provider
        if name not in self._made:
            self._made[name] = self._make(name)

    def settings(self, name: str) -> ProviderSettings:
        """How the provider ``name`` is reached. Raises ``ConfigError`` if its section is wrong."""
        found, preset = provider_settings(self._loaded, name), self._loaded.presets.get(name)
        return ProviderSettings(
            name=name,
            base_url=found.base_url,
            api_key=found.api_key.get_secret_value() if found.api_key else "",
            headers=found.headers,
            options=found.options,
            key_env=preset.key_env or "" if preset is not None else "",
        )

    def _make(self, name: str) -> Provider:
        wanted = provider_settings(self._loaded, name).driver
        driver = find_driver(GROUP, wanted)
        if driver is None:
            near = difflib.get_close_matches(name, self._loaded.presets, 1)
            hint = f"Did you mean {near[0]}? Else install" if near else "Install"
            raise ConfigError(
                f"No provider {wanted!r} is installed. {hint} its package, "
                f"hookline-{wanted}, or choose another `model:` in config.yaml."
            )
        made: Provider = driver(self.settings(name))
        return made

    async def aclose(self) -> None:
        """Close every provider's connections."""
        for provider in self._made.values():
            await provider.aclose()
        self._made.clear()
