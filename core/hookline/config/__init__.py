"""The config of a home: read, checked against the models, chosen from and shown.

`load` reads everything; `Loaded` is what the rest of the core works with. Errors are sentences for
the user: ConfigError prevents a start, SettingsError switches one plugin off.
"""

from .choose import ModelChoice, choose_model, provider_settings, split_model
from .load import Loaded, effective, load, plugin_commands
from .model import Config, ConfigFile, PluginEntry
from .problems import ConfigError, NoModel, SettingsError
from .settings import validate_settings

# fmt: off
__all__ = [
    "Config", "ConfigError", "ConfigFile", "Loaded", "ModelChoice", "NoModel", "PluginEntry",
    "SettingsError", "choose_model", "effective", "load", "plugin_commands", "provider_settings",
    "split_model", "validate_settings",
]
# fmt: on
