"""What `hookline init` can offer: the providers of providers.toml, and servers that run here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from tempfile import TemporaryDirectory

TIMEOUT = 0.3
"""Seconds that a server on this machine has to answer."""
_MOST_BYTES = 1_000_000
_CHOOSES = re.compile(r"^HOOKLINE_|_API_KEY$|_BASE_URL$")
"""Variables that can decide which model answers."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A service with a key."""

    name: str
    title: str
    key: str


@dataclass(frozen=True, slots=True)
class Local:
    """A server that may run on this machine; ``url`` is the variable that says where."""

    name: str
    title: str
    url: str
    address: str


@dataclass(frozen=True, slots=True)
class Found:
    """A server that answered, and its models."""

    server: Local
    address: str
    models: tuple[str, ...]


@cache
def _data() -> dict[str, list[dict[str, str]]]:
    return tomllib.loads(files(__package__).joinpath("providers.toml").read_text("utf-8"))


def default_model(service: Remote) -> str | None:
    """The model that core chooses with this service's key alone, as ``provider/model``.

    Asked of core in a home and an environment that hold nothing else; None if it does not say.
    """
    with TemporaryDirectory() as home:
        kept = {name: value for name, value in os.environ.items() if not _CHOOSES.search(name)}
        env = kept | {"HOOKLINE_HOME": home, service.key: "unused"}
        asked = subprocess.run(
            [sys.executable, "-m", "hookline", "run", "--no-input", "/model"],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    _, _, model = asked.stdout.strip().rpartition(" ")
    return model if model.startswith(f"{service.name}/") else None


def remotes() -> list[Remote]:
    """The services, in order."""
    return [Remote(**entry) for entry in _data()["remote"]]


def find_local() -> list[Found]:
    """The servers on this machine that answer and have a model; all are asked at once."""
    servers = [Local(**entry) for entry in _data()["local"]]
    with ThreadPoolExecutor(len(servers)) as pool:
        return [found for found in pool.map(_look, servers) if found.models]


def _look(server: Local) -> Found:
    address = os.environ.get(server.url) or server.address
    return Found(server, address, tuple(models_at(address)))


def models_at(address: str) -> Sequence[str]:
    """The models of the server at ``address`` (its ``…/v1``); none if it does not answer."""
    from urllib.request import ProxyHandler, Request, build_opener

    # No proxy: what runs on this machine is asked directly or not at all.
    opener = build_opener(ProxyHandler({}))
    try:
        # The key that core sends to a server without one; some refuse a request that has none.
        request = Request(  # noqa: S310 - the address is the operator's
            f"{address.rstrip('/')}/models", headers={"Authorization": "Bearer none"}
        )
        with opener.open(request, timeout=TIMEOUT) as response:
            listed = json.loads(response.read(_MOST_BYTES))["data"]
        return [str(model["id"]) for model in listed]
    except (OSError, ValueError, KeyError, TypeError):
        return ()
