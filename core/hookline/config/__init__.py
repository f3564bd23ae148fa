"""Reads and validates a home's config, and chooses the model.

`load` reads everything; the rest of core works with the `Loaded` that it returns. Errors are
sentences for the user: ConfigError prevents a start, SettingsError switches one plugin off.
"""

from hookline_hookspecs.errors import ConfigError, SettingsError

from .choose import ModelChoice, NoModel, choose_model, provider_settings, split_model
from .drivers import find_driver, open_secret_sources
from .load import Loaded, effective, load, validate_settings
from .model import Config, ConfigFile, PluginEntry
from .source import ConfigSource, parse

__all__ = [
    "Config",
    "ConfigError",
    "ConfigFile",
    "ConfigSource",
    "Loaded",
    "ModelChoice",
    "NoModel",
    "PluginEntry",
    "SettingsError",
    "choose_model",
    "effective",
    "find_driver",
    "load",
    "open_secret_sources",
    "parse",
    "provider_settings",
    "split_model",
    "validate_settings",
]
