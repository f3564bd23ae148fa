"""Finds drivers by entry point: providers, stores and secret sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs.errors import ConfigError
from hookline_hookspecs.vault import names_in

if TYPE_CHECKING:
    from .source import ConfigSource


async def open_secret_sources(
    source: ConfigSource, home: Path, storage: Callable[..., Any]
) -> None:
    """Resolve ``vault:NAME`` references in config.yaml with the ``hookline.secrets`` driver.

    Without a reference, no driver is imported. ``storage`` creates a plugin's storage from its name
    and package.
    """
    if not any(names_in(source.values)):
        return
    if (open_vault := find_driver("hookline.secrets", "vault")) is not None:
        await open_vault(source, home, storage)


def find_driver(group: str, name: str) -> Any:
    """The object of the entry point ``name`` in ``group``; None if it is not installed.

    Raises:
        ConfigError: it is installed but cannot be imported.
    """
    from stevedore import DriverManager
    from stevedore.exception import NoMatches

    try:
        return DriverManager(group, name, on_missing_entrypoints_callback=lambda _: None).driver
    except NoMatches:
        return None
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name} of {group} cannot be imported: {error}; reinstall it") from error
