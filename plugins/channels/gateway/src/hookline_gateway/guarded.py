"""Who decides who may write: without an answer to that, no network channel is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hookline_hookspecs import Access, Host

from .telling import stop, tell

ACCESS = "access"
"""The plugin of the standard set that decides it; any other that offers the service will do."""


def is_guarded(host: Host) -> bool:
    """True if a plugin decides who may write."""
    return host.services.get(Access) is not None


def make_sure(host: Host, plugins: Sequence[Mapping[str, Any]], channels: Sequence[str]) -> None:
    """Go on if a plugin decides who may write, or if config says that nobody is to.

    ``plugins`` are the rows of ``Inspection.plugins``. Ends with ``SystemExit`` where ``access``
    is wanted and not on.
    """
    if is_guarded(host):
        return
    row = next((one for one in plugins if one["name"] == ACCESS), None)
    if row is not None and row["state"] == "off":
        tell_open(channels)
        return
    why = "it is not installed" if row is None else row["reason"] or f"it is {row['state']}"
    stop(
        f"plugin {ACCESS} is not on ({why}), so everybody could write on {', '.join(channels)}; "
        f"mend it or install hookline-{ACCESS}. Write `{ACCESS}: false` under plugins: in "
        "config.yaml if everybody is to"
    )


def tell_open(channels: Sequence[str]) -> None:
    """Warn that everybody may write."""
    tell(
        f"hookline: WARNING: plugin {ACCESS} is off: WHOEVER REACHES {', '.join(channels)} MAY "
        f"WRITE AND APPROVE; `hookline plugins enable {ACCESS}` and a new start change that"
    )
