"""Drivers: exactly one of many, found by stevedore and imported when it is wanted."""

from __future__ import annotations

from typing import Any

from .config import ConfigError


def find_driver(group: str, name: str) -> Any:
    """What the entry point ``name`` of ``group`` stands for, or None if nothing is installed.

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
