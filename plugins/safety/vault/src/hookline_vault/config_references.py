"""Resolves ``vault:NAME`` in config.yaml before the plugins are created."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hookline_hookspecs.vault import names_in

PLUGIN = "vault"


async def open_vault(source: Any, home: Path, storage: Callable[[str, str], Any]) -> None:
    """Fill ``source.vault`` with the values that ``source.values`` refers to.

    A reference that cannot be resolved gets the reason instead; the others are not affected.
    Without any reference, nothing is read and no key is needed.

    Args:
        source: the content of config.yaml.
        home: the home.
        storage: returns the storage of a plugin, by its name and package.
    """
    names = sorted(set(names_in(source.values)))
    if not names:
        return
    settings = (source.values.get("plugins") or {}).get(PLUGIN)
    if settings is False:
        reason = "the plugin vault is off. Run `hookline plugins enable vault`."
        source.vault.fill({}, dict.fromkeys(names, reason))
        return
    from hookline_hookspecs.errors import HooklineError

    from .config import VaultConfig
    from .keys import KeyChain, KeyContext
    from .secret_store import SecretStore

    try:
        section = settings if isinstance(settings, dict) else {}
        config, _ = source.check(VaultConfig, {k: v for k, v in section.items() if k != "enabled"})
        context = KeyContext(home, source.env, config)
        secrets = SecretStore(storage(PLUGIN, "hookline_vault"), KeyChain(context), time.time)
        values, errors = await secrets.read_many(names)
    except HooklineError as error:
        values, errors = {}, dict.fromkeys(names, str(error))
    source.vault.fill(values, errors)
