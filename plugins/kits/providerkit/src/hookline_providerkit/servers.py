"""Servers of models: those that run on this machine, and which models a server has.

Set-up and doctor use it. Nothing here raises: whatever else listens on a port, such as a web page,
is no server of models.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

HERE_SECONDS = 1.0
"""How long a server on this machine has to answer."""
_MOST_BYTES = 4_000_000
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Local:
    """A server that may run on this machine; ``url`` is the variable that says where."""

    name: str
    title: str
    url: str
    address: str


@dataclass(frozen=True, slots=True)
class Found:
    """A server that answered, and its models; it may have none yet."""

    server: Local
    address: str
    models: tuple[str, ...]

    def __str__(self) -> str:
        count = len(self.models)
        models = "no model yet" if not count else f"{count} model" + "s" * (count > 1)
        return f"{self.server.name} runs at {urlsplit(self.address).netloc} with {models}"


@cache
def local_servers() -> tuple[Local, ...]:
    """The servers that are known by their ports."""
    text = files(__package__).joinpath("servers.toml").read_text("utf-8")
    return tuple(Local(**entry) for entry in tomllib.loads(text)["local"])


def find_local(env: Mapping[str, str]) -> list[Found]:
    """The known servers that answer, all asked at once. ``env`` may hold other addresses."""
    with ThreadPoolExecutor(len(local_servers())) as pool:
        found = pool.map(lambda server: _look(server, env), local_servers())
        return [one for one in found if one is not None]


def _look(server: Local, env: Mapping[str, str]) -> Found | None:
    address = env.get(server.url) or server.address
    # The key that core sends to a server without one; some refuse a request that has none.
    models = models_at(address, {"Authorization": "Bearer none"}, HERE_SECONDS)
    return None if models is None else Found(server, address, models)


def is_here(address: str) -> bool:
    """Whether ``address`` is on this machine."""
    try:
        return urlsplit(address).hostname in _LOOPBACK
    except ValueError:
        return False


def models_at(
    address: str, headers: Mapping[str, str], seconds: float, path: str = "models"
) -> tuple[str, ...] | None:
    """The names of the models of the server at ``address`` (its ``…/v1``); None if it does not
    tell. ``path`` is that of the list; ``seconds`` is the longest silence."""
    from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        """A key goes nowhere else."""

        def redirect_request(self, *_given: Any) -> None:
            return None

    # No proxy on this machine: what runs here is asked directly or not at all.
    opener = build_opener(Stay, *([ProxyHandler({})] if is_here(address) else []))
    try:
        request = Request(  # noqa: S310 - the address is the operator's
            f"{address.rstrip('/')}/{path}", headers={"User-Agent": "hookline", **headers}
        )
        with opener.open(request, timeout=seconds) as response:
            listed = json.loads(response.read(_MOST_BYTES))["data"]
        return tuple(str(model["id"]) for model in listed)
    except (OSError, ValueError, KeyError, TypeError, HTTPException, RecursionError):
        return None
