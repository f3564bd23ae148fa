"""The models that a server lists, for ``/model``."""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Collection

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.sentences import N_
from hookline_providerkit.servers import list_models

LIST_TIMEOUT = 2.0
"""Seconds that a server has to answer."""
LIST_SECONDS = 60.0
"""Seconds for which a list is used again."""
MAX_NAMED_MODELS = 8
"""Models that a refusal names if none is similar."""


class ServerModels:
    """Lists of models, by provider."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lists: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def listed(self, provider: str) -> tuple[str, ...]:
        """Return the models that a provider's server lists; none if it does not say."""
        known = self._lists.get(provider)
        if known is not None and time.monotonic() - known[0] < LIST_SECONDS:
            return known[1]
        try:
            settings = self._host.provider(provider)
        except HooklineError:
            return ()
        if not settings.base_url or not settings.api_key:
            return ()
        headers = {
            "Authorization": f"Bearer {settings.api_key}",
            "x-api-key": settings.api_key,
            "anthropic-version": "2023-06-01",
            **settings.headers,
        }
        path = "models"
        if settings.base_url.rstrip("/").count("/") == 2:  # an address without a path
            path = "v1/models"
        found = await asyncio.to_thread(list_models, settings.base_url, headers, LIST_TIMEOUT, path)
        self._lists[provider] = (time.monotonic(), found or ())
        return found or ()

    async def full_name(self, written: str, current: str) -> str:
        """Return ``provider/model`` for a name as people write it or copy it from a list.

        A name without a provider is read as a model of the current one if its server lists it.
        """
        provider, slash, model = written.strip("`'\" ").partition("/")
        name = f"{provider.strip()}{slash}{model.strip()}"
        own = current.partition("/")[0]
        if not (slash and self._has_provider(provider.strip())):
            listed = await self.listed(own)
            if listed and _is_listed(name, listed):
                return f"{own}/{name}"
        return name

    def _has_provider(self, name: str) -> bool:
        try:
            settings = self._host.provider(name)
        except HooklineError:
            return False
        return bool(settings.api_key or (settings.base_url and not settings.key_env))

    async def refusal(self, name: str) -> str:
        """Return why ``provider/model`` cannot be chosen; empty if its server may know it."""
        provider, _, model = name.partition("/")
        listed = await self.listed(provider)
        if not listed or _is_listed(model, listed):
            return ""
        near = difflib.get_close_matches(model, listed, 3) or [
            one for one in listed if model.casefold() in one.casefold()
        ]
        if near:
            names = " or ".join(f"{provider}/{one}" for one in near[:3])
            return N_(f"{provider} does not list {model!r}. Did you mean {names}?")
        names = ", ".join(listed[:MAX_NAMED_MODELS])
        more = ", …" if len(listed) > MAX_NAMED_MODELS else ""
        return N_(f"{provider} does not list {model!r}. It has: {names}{more}")


def _is_listed(model: str, listed: Collection[str]) -> bool:
    """Return whether a list has a model, with or without a tag and the prefix of its owner.

    Servers accept ``qwen3`` for ``qwen3:latest``, and OpenRouter ``owner/model:free``.
    """
    plain = model.partition(":")[0]
    names = {*listed, *(one.partition(":")[0] for one in listed if ":" not in model)}
    names |= {one.removeprefix("models/") for one in listed}  # Google lists models/NAME
    return model in names or (plain in listed and "/" in model)
