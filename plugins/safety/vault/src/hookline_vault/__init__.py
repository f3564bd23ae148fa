"""Hookline plugin ``vault``: stores credentials encrypted and never shows them to the model.

It has two entry points. ``hookline_vault:VaultPlugin`` has the commands, the service ``Vault`` and
the hooks that keep used values out of what the model reads. Core calls
``hookline_vault:open_vault`` before it creates the plugins, to resolve ``vault:NAME`` in
config.yaml. Key sources are entry points of the group ``hookline.keys``; see :mod:`.keys`.
"""

from .config_references import open_vault
from .plugin import VaultPlugin

__all__ = ["VaultPlugin", "open_vault"]
