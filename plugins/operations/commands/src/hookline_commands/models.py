"""Completes ``/model``: models in config, at the server, used before, and with a known price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hookline_hookspecs import HooklineError, Host, Usage
from hookline_hookspecs.inspection import Inspection
from hookline_hookspecs.prices import FREE, Prices

if TYPE_CHECKING:
    from .server_models import ServerModels

ONE_MILLION = 1_000_000
MAX_USED_MODELS = 20
"""Models of earlier sessions that are offered."""


async def complete_models(
    host: Host, servers: ServerModels, session_id: str, typed: str
) -> Sequence[tuple[str, str]]:
    """Return ``(provider/model, description)`` for models that contain ``typed``.

    Models that begin with it come first. Models of providers without a key are only offered if
    ``typed`` is not empty and nothing else matches.
    """
    rows = await host.storage.fetch("models", id=session_id, limit=MAX_USED_MODELS)
    current = next((row["model"] for row in rows if row["here"]), None) or _default(host)
    config = host.config
    known = {current: "current model"} if current else {}
    named = [config.model, config.auxiliary_model, *config.fallback_models]
    known |= {name: "in config.yaml" for name in named if name and name not in known}
    known |= {row["model"]: "used before" for row in rows if row["model"] not in known}
    provider = (typed.strip() or current or "").partition("/")[0]
    listed = [f"{provider}/{name}" for name in await servers.listed(provider)]
    known |= {name: "at the server" for name in listed if name not in known}
    prices = Prices.of(host)
    own = list(known)
    known |= dict.fromkeys((name for name in prices.models() if name not in known), "")
    prefix = typed.strip().casefold()
    fitting = [name for name in known if prefix in name.casefold()]
    fitting.sort(key=lambda name: not name.casefold().startswith(prefix))
    ready = [name for name in fitting if name in own or _has_key(host, name)]
    shown = ready or (fitting if prefix else [])
    return [(name, _description(host, prices, name, known[name])) for name in shown]


def _description(host: Host, prices: Prices, name: str, why: str) -> str:
    return ", ".join(filter(None, [why, *_price(prices, name), *_missing_key(host, name)]))


def _price(prices: Prices, name: str) -> Iterator[str]:
    if prices.is_free(name):
        yield FREE
        return
    input_ = prices.cost(name, Usage(input=ONE_MILLION), prompt=1)
    output = prices.cost(name, Usage(output=ONE_MILLION), prompt=1)
    if input_ is not None and output is not None:
        yield f"{prices.format(input_)} in, {prices.format(output)} out per million tokens"


def _missing_key(host: Host, name: str) -> Iterator[str]:
    if not _has_key(host, name):
        yield "no key yet"


def _has_key(host: Host, name: str) -> bool:
    """Whether the provider of a model has a key or needs none."""
    try:
        settings = host.provider(name.partition("/")[0])
    except HooklineError:
        return False
    return bool(settings.api_key or not settings.key_env)


def _default(host: Host) -> str | None:
    try:
        return host.services[Inspection].default_model()
    except Exception:  # something is missing in config or environment
        return None
