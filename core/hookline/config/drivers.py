"""The drivers and services that installed packages bring, by entry point."""

from __future__ import annotations

from functools import cache
from typing import Any

from hookline_hookspecs.errors import ConfigError

from . import plain


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


@cache
def config_reader() -> Any:
    """What reads and checks config.yaml: the package hookline-configfile, else :mod:`.plain`."""
    return find_driver("hookline.services", "config") or plain
