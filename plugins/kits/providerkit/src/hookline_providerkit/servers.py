"""Finds model servers on this machine, and lists the models of a server.

Used by ``hookline init`` and ``doctor``. Nothing here raises: another program on a port, such as a
web server, is not a model server.
"""

from __future__ import annotations

import ipaddress
import json
import re
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
        host = (urlsplit(address).hostname or "").rstrip(".")
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def resolvable(address: str) -> str:
    """Return an address with ``localhost`` for ``localhost.``, which few resolvers know."""
    return re.sub(r"(?i)(//|@)localhost\.(?=[:/]|\Z)", r"\1localhost", address)


def proxy_for(address: str) -> str:
    """Return host and port of the proxy that the environment names for an address; empty if none.

    Its user and password are left out.
    """
    from urllib.request import getproxies, proxy_bypass

    try:
        parts = urlsplit(address)
        proxy = getproxies().get(parts.scheme, "") or getproxies().get("all", "")
        if not proxy or is_local(address) or proxy_bypass(parts.hostname or ""):
            return ""
        return urlsplit(proxy if "://" in proxy else f"http://{proxy}").netloc.rpartition("@")[2]
    except ValueError:
        return ""


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
    listed = fetch_json(f"{address.rstrip('/')}/{path}", headers, seconds)
    try:
        return tuple(str(model["id"]) for model in listed["data"])
    except (KeyError, TypeError):
        return None


def fetch_json(
    url: str, headers: Mapping[str, str], seconds: float, body: bytes | None = None
) -> Any:
    """Return the JSON that a server answers; None if it answers with anything else.

    Args:
        url: the address.
        headers: headers of the request.
        seconds: how long to wait for the next bytes.
        body: JSON to POST; None sends a GET.
    """
    from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

    class NoRedirect(HTTPRedirectHandler):
        """Follows no redirect, so that the key is sent nowhere else."""

        def redirect_request(self, *_given: Any) -> None:
            return None

    # Servers on this machine are never asked through a proxy.
    opener = build_opener(NoRedirect, *([ProxyHandler({})] if is_local(url) else []))
    kind = {} if body is None else {"Content-Type": "application/json"}
    try:
        request = Request(  # noqa: S310 - the address is the operator's
            url, body, {"User-Agent": "hookline", **kind, **headers}
        )
        with opener.open(request, timeout=seconds) as response:
            return json.loads(response.read(_MAX_BYTES))
    except (OSError, ValueError, HTTPException, RecursionError):
        return None
