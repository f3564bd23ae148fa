"""The search service, chosen by configuration and environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hookline_hookspecs import Http
from hookline_hookspecs.sentences import N_
from pydantic import SecretStr

from ..config import WebConfig
from .brave import Brave
from .duckduckgo import DuckDuckGo
from .results import SearchService
from .searxng import SearXNG
from .tavily import Tavily

ENV_VARIABLES = {
    "searxng": "SEARXNG_BASE_URL",
    "brave": "BRAVE_API_KEY",
    "tavily": "TAVILY_API_KEY",
}
"""What each service needs from the environment; the keys of config.yaml are in lower case."""


@dataclass(frozen=True, slots=True)
class SearchChoice:
    """The search service, or the reason why there is none."""

    service: SearchService | None
    reason: str = ""


def choose_service(
    config: WebConfig, env: Mapping[str, str], http: Http, user_agent: str
) -> SearchChoice:
    """The service that `config` names, or the first one that `config` or `env` configures.

    DuckDuckGo, which needs no key, has to be named: its requests go through `http`.
    """
    if config.search == "none":
        return SearchChoice(None, N_("search is switched off"))
    if config.search == "duckduckgo":
        return SearchChoice(DuckDuckGo(http, config.duckduckgo_base_url, user_agent))
    if config.search != "auto":
        service = _FACTORIES[config.search](config, env)
        needed = ENV_VARIABLES[config.search]
        return SearchChoice(service, "" if service else f"search: {config.search} needs {needed}")
    candidates = (create(config, env) for create in _FACTORIES.values())
    service = next((candidate for candidate in candidates if candidate is not None), None)
    return SearchChoice(service, "" if service else N_("no search service is configured"))


def _searxng(config: WebConfig, env: Mapping[str, str]) -> SearchService | None:
    url = config.searxng_base_url or env.get("SEARXNG_BASE_URL", "").strip()
    return SearXNG(url) if re.match(r"https?://[^/\s]", url) else None


def _brave(config: WebConfig, env: Mapping[str, str]) -> SearchService | None:
    key = _key(config.brave_api_key, env.get("BRAVE_API_KEY", ""))
    return Brave(key, config.brave_base_url) if key else None


def _tavily(config: WebConfig, env: Mapping[str, str]) -> SearchService | None:
    key = _key(config.tavily_api_key, env.get("TAVILY_API_KEY", ""))
    return Tavily(key, config.tavily_base_url) if key else None


def _key(configured: SecretStr | None, default: str) -> SecretStr | None:
    key = (configured.get_secret_value() if configured else default).strip()
    return SecretStr(key) if key else None


_FACTORIES: dict[str, Callable[[WebConfig, Mapping[str, str]], SearchService | None]] = {
    "searxng": _searxng,
    "brave": _brave,
    "tavily": _tavily,
}
