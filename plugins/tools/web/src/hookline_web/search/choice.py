"""Who searches, by configuration and environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from ..config import WebConfig
from .brave import Brave
from .results import Backend
from .searxng import SearXNG
from .tavily import Tavily

VARIABLES = {"searxng": "SEARXNG_BASE_URL", "brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}
"""What each service needs, as named in the environment; config.yaml has it in lower case."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Who searches, or the sentence why nobody does."""

    backend: Backend | None
    reason: str = ""


def choose(config: WebConfig, env: Mapping[str, str]) -> Choice:
    """The service that `config` names, or the first that has what it needs, there or in `env`."""
    if config.search == "none":
        return Choice(None, "search is switched off")
    if config.search != "auto":
        backend = _MAKERS[config.search](config, env)
        needed = VARIABLES[config.search]
        return Choice(backend, "" if backend else f"search: {config.search} needs {needed}")
    made = (make(config, env) for make in _MAKERS.values())
    backend = next((one for one in made if one is not None), None)
    return Choice(backend, "" if backend else "no search service is configured")


def _searxng(config: WebConfig, env: Mapping[str, str]) -> Backend | None:
    url = config.searxng_base_url or env.get("SEARXNG_BASE_URL", "").strip()
    return SearXNG(url) if re.match(r"https?://[^/\s]", url) else None


def _brave(config: WebConfig, env: Mapping[str, str]) -> Backend | None:
    key = _key(config.brave_api_key, env.get("BRAVE_API_KEY", ""))
    return Brave(key, config.brave_base_url) if key else None


def _tavily(config: WebConfig, env: Mapping[str, str]) -> Backend | None:
    key = _key(config.tavily_api_key, env.get("TAVILY_API_KEY", ""))
    return Tavily(key, config.tavily_base_url) if key else None


def _key(given: SecretStr | None, usual: str) -> SecretStr | None:
    key = (given.get_secret_value() if given else usual).strip()
    return SecretStr(key) if key else None


_MAKERS: dict[str, Callable[[WebConfig, Mapping[str, str]], Backend | None]] = {
    "searxng": _searxng,
    "brave": _brave,
    "tavily": _tavily,
}
