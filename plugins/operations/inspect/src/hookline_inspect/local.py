"""Servers of models on this machine, for somebody whose own model does not answer."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Check, CheckResult, HooklineError, Host
from hookline_providerkit.servers import find_local_servers, is_local

from .service import inspection

USE = "`hookline init` can use it"


def is_model_here(host: Host) -> bool:
    """Whether the configured model is to answer from this machine."""
    try:
        provider = inspection(host).default_model().partition("/")[0]
        return is_local(host.provider(provider).base_url or "")
    except HooklineError:
        return False


async def found_check(host: Host) -> Check | None:
    """A check that tells which servers run here; None if none does."""
    found = await asyncio.to_thread(find_local_servers, host.env)
    if not found:
        return None
    return Check("local servers", lambda: CheckResult(True, "; ".join(map(str, found)), USE))
