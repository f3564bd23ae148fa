"""Finds model servers on this machine, and lists the models of a server.

Used by ``hookline init`` and ``doctor``. Nothing here raises: another program on a port, such as a
web server, is not a model server.
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

LOCAL_TIMEOUT = 1.0
"""Seconds that a server on this machine has to answer."""
_MAX_BYTES = 4_000_000
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that may run on this machine; ``url`` is the environment variable of its address."""

    name: str
    title: str
    url: str
    address: str


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered, and its models; it may have none yet."""

    server: LocalServer
    address: str
    models: tuple[str, ...]

    def __str__(self) -> str:
        count = len(self.models)
        models = "no models yet" if not count else f"{count} model" + "s" * (count > 1)
        return f"{self.server.name} runs at {urlsplit(self.address).netloc} with {models}"


@cache
def local_servers() -> tuple[LocalServer, ...]:
    """Return the servers with known ports."""
    text = files(__package__).joinpath("servers.toml").read_text("utf-8")
    return tuple(LocalServer(**entry) for entry in tomllib.loads(text)["local"])


def find_local_servers(env: Mapping[str, str]) -> list[FoundServer]:
    """Return the known servers that answer, all asked at once. ``env`` may hold addresses."""
    with ThreadPoolExecutor(len(local_servers())) as pool:
        found = pool.map(lambda server: _probe(server, env), local_servers())
        return [one for one in found if one is not None]


def _probe(server: LocalServer, env: Mapping[str, str]) -> FoundServer | None:
    address = env.get(server.url) or server.address
    # The key that core sends to a server without one; some servers refuse requests without a key.
    models = list_models(address, {"Authorization": "Bearer none"}, LOCAL_TIMEOUT)
    return None if models is None else FoundServer(server, address, models)


def is_local(address: str) -> bool:
    """Return whether ``address`` is on this machine."""
    try:
        return urlsplit(address).hostname in _LOOPBACK
    except ValueError:
        return False


def list_models(
    address: str, headers: Mapping[str, str], seconds: float, path: str = "models"
) -> tuple[str, ...] | None:
    """Return the names of a server's models; None if it does not answer with a list of them.

    Args:
        address: the API's address, such as ``http://127.0.0.1:11434/v1``.
        headers: headers of the request.
        seconds: how long to wait for the next bytes.
        path: the path of the list.
    """
    from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

    class NoRedirect(HTTPRedirectHandler):
        """Follows no redirect, so that the key is sent nowhere else."""

        def redirect_request(self, *_given: Any) -> None:
            return None

    # Servers on this machine are never asked through a proxy.
    opener = build_opener(NoRedirect, *([ProxyHandler({})] if is_local(address) else []))
    try:
        request = Request(  # noqa: S310 - the address is the operator's
            f"{address.rstrip('/')}/{path}", headers={"User-Agent": "hookline", **headers}
        )
        with opener.open(request, timeout=seconds) as response:
            listed = json.loads(response.read(_MAX_BYTES))["data"]
        return tuple(str(model["id"]) for model in listed)
    except (OSError, ValueError, KeyError, TypeError, HTTPException, RecursionError):
        return None
