"""Resolves ``vault:NAME`` in config.yaml, before the plugins are made."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hookline_hookspecs.vault import names_in

PLUGIN = "vault"


async def open_vault(source: Any, home: Path, storage: Callable[[str, str], Any]) -> None:
    """Fill ``source.vault`` with the values that ``source.values`` refers to.

    ``source`` is what config.yaml says; ``storage`` makes a plugin's storage of its name and
    package. Without a reference nothing is read and no key is looked for. What cannot be resolved
    is a sentence about that reference alone.
    """
    names = sorted(set(names_in(source.values)))
    if not names:
        return
    settings = (source.values.get("plugins") or {}).get(PLUGIN)
    if settings is False:
        told = "the plugin vault is off; `hookline plugins enable vault` switches it on."
        source.vault.fill({}, dict.fromkeys(names, told))
        return
    from hookline_hookspecs.errors import HooklineError

    from .config import VaultConfig
    from .keys import Keys, Place
    from .secrets import Secrets

    try:
        given = settings if isinstance(settings, dict) else {}
        config, _ = source.check(VaultConfig, {k: v for k, v in given.items() if k != "enabled"})
        place = Place(home, source.env, config)
        secrets = Secrets(storage(PLUGIN, "hookline_vault"), Keys(place), time.time)
        values, faults = await secrets.some(names)
    except HooklineError as error:
        values, faults = {}, dict.fromkeys(names, str(error))
    source.vault.fill(values, faults)
