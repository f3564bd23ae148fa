"""Shows the context window of the default model, and asks its server for it."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import CheckResult, Configuration, Host, Inspection
from hookline_providerkit import KnownWindows, ask_server

WINDOW_TIMEOUT = 2.0
"""Seconds that a server has to answer each question about its window."""


async def check_window(host: Host) -> CheckResult:
    """The window that is used, and where it comes from. What a server says is remembered."""
    model = host.services[Inspection].default_model()
    provider, _, name = model.partition("/")
    section = host.services[Configuration].effective()["providers"].get(provider) or {}
    if section.get("window"):
        return CheckResult(True, f"{host.window(model):,} tokens for {model}, from config.yaml")
    settings = host.provider(provider)
    address = settings.base_url or ""
    headers = {"Authorization": f"Bearer {settings.api_key}", **settings.headers}
    learnt = await asyncio.to_thread(ask_server, address, name, headers, WINDOW_TIMEOUT)
    if learnt is not None:
        KnownWindows(host.home).learn(address, name, learnt)
        return CheckResult(True, f"{learnt:,} tokens for {model}, from the server")
    detail = f"{host.window(model):,} tokens for {model}; the server does not say"
    return CheckResult(
        True, detail, f"hookline config set providers.{provider}.window TOKENS", hint=True
    )
