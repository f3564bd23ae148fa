"""Refuses to start network channels unless a plugin decides who may write, or config allows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hookline_hookspecs import Access, Host

from .console import exit_with, write_line

ACCESS = "access"
"""The standard plugin that decides it; any plugin that provides the service will do."""


def has_access(host: Host) -> bool:
    """Return whether a plugin decides who may write."""
    return host.services.get(Access) is not None


def require_access(
    host: Host, plugins: Sequence[Mapping[str, Any]], channels: Sequence[str]
) -> None:
    """Return if a plugin decides who may write, or if config switches ``access`` off.

    ``plugins`` are the rows of ``Inspection.plugins``. Raises ``SystemExit`` if ``access``
    should be on and is not.
    """
    if has_access(host):
        return
    row = next((one for one in plugins if one["name"] == ACCESS), None)
    if row is not None and row["state"] == "off":
        warn_open(channels)
        return
    why = "it is not installed" if row is None else row["reason"] or f"it is {row['state']}"
    exit_with(
        f"plugin {ACCESS} is not on ({why}), so anyone could write on {', '.join(channels)}; "
        f"fix it or install hookline-{ACCESS}. To let anyone write, set `{ACCESS}: false` under "
        "plugins: in config.yaml"
    )


def warn_open(channels: Sequence[str]) -> None:
    """Warn that anyone may write."""
    write_line(
        f"hookline: WARNING: plugin {ACCESS} is off: ANYONE WHO REACHES {', '.join(channels)} MAY "
        f"WRITE AND APPROVE. Run `hookline plugins enable {ACCESS}` and restart"
    )
