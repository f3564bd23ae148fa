"""Prices from the library ``genai-prices``, for models that are not in Hookline's lists.

The library takes half a second to import, so it is imported when a price is first needed. It uses
its installed data and no network.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from hookline_hookspecs import Usage


def library_cost(model: str, usage: Usage, prompt: int) -> float | None:
    """What ``usage`` of ``provider/model`` costs in US dollars; None if the price is unknown.

    Args:
        model: a provider that the library does not know, such as a proxy, is ignored.
        usage: of requests whose prompts have ``prompt`` tokens each.
        prompt: tokens of one prompt, which determine the rate.
    """
    found = _find(model)
    if found is None:
        return None
    import genai_prices

    # The price of a token is the same for all prompts of one length, so one request is priced.
    requests = usage.input / prompt if prompt and usage.input else 1.0
    request = genai_prices.Usage(
        input_tokens=usage.input / requests,
        cache_read_tokens=usage.cache_read / requests,
        cache_write_tokens=usage.cache_write / requests,
        cache_write_1h_tokens=usage.cache_write_1h / requests,
        output_tokens=usage.output / requests,
    )
    provider, name = found
    try:
        priced = genai_prices.calc_price(request, name, provider_id=provider)
    except (LookupError, ValueError):  # the library knows the model, but not its price
        return None
    return float(priced.total_price) * requests


def library_version(model: str) -> str:
    """The library's name and version, such as ``genai-prices 0.2.3``; empty without a price."""
    return f"genai-prices {version('genai-prices')}" if _find(model) is not None else ""


@cache
def _find(model: str) -> tuple[str, str] | None:
    """The library's provider for ``provider/model``, and the model's name there."""
    from genai_prices.data_snapshot import get_snapshot

    snapshot = get_snapshot()
    provider, _, name = model.partition("/")
    bare = name.rpartition("/")[2]
    try:
        snapshot.find_provider(None, provider, None)
    except LookupError:
        library_provider, name = None, bare
    else:
        library_provider = provider
    try:
        found, priced = snapshot.find_provider_model(name, None, library_provider, None)
    except LookupError:
        return None
    return found.id, priced.id
