"""The drivers that installed packages bring, by entry point: providers, stores, secret sources."""

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
    """Resolve what config.yaml takes from elsewhere (``vault:NAME``), by the drivers of the group
    ``hookline.secrets``. Without such a reference no driver is imported.

    ``storage`` makes a plugin's storage of its name and package.
    """
    if not any(names_in(source.values)):
        return
    if (open_vault := find_driver("hookline.secrets", "vault")) is not None:
        await open_vault(source, home, storage)


def find_driver(group: str, name: str) -> Any:
    """The object behind the entry point ``name`` of ``group``; None if none is installed.

    Raises:
        ConfigError: it is installed and cannot be imported.
    """
    from stevedore import DriverManager
    from stevedore.exception import NoMatches

    try:
        return DriverManager(group, name, on_missing_entrypoints_callback=lambda _: None).driver
    except NoMatches:
        return None
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name} of {group} cannot be imported: {error}; reinstall it") from error
