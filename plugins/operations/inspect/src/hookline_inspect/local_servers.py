"""Finds model servers on this machine, as a hint if the configured model does not answer."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Check, CheckResult, HooklineError, Host, Inspection
from hookline_providerkit.servers import find_local_servers, is_local

USE_HINT = "`hookline init` can use it"


def is_local_model(host: Host) -> bool:
    """Whether the configured model is served by this machine."""
    try:
        provider = host.services[Inspection].default_model().partition("/")[0]
        return is_local(host.provider(provider).base_url or "")
    except HooklineError:
        return False


async def local_servers_check(host: Host) -> Check | None:
    """A check that lists the model servers on this machine; None if there are none."""
    found = await asyncio.to_thread(find_local_servers, host.env)
    if not found:
        return None
    return Check("local servers", lambda: CheckResult(True, "; ".join(map(str, found)), USE_HINT))
