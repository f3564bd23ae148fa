"""Hookline plugin ``vault``: credentials, encrypted at rest and never in the model's sight.

Reached by two entry points. ``hookline_vault:VaultPlugin`` has the commands, the service ``Vault``
and the hooks that keep used values out of what the model reads. ``hookline_vault:open_vault`` is
called by core before the plugins are made, to resolve ``vault:NAME`` in config.yaml. Sources of
keys are entry points of the group ``hookline.keys``, see :mod:`.keys`.
"""

from .opening import open_vault
from .plugin import VaultPlugin

__all__ = ["VaultPlugin", "open_vault"]
