"""What `hookline init` can offer: services, servers that run here, and what the config names."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from hookline_hookspecs import HooklineError, Host
from hookline_providerkit.servers import LOCAL_TIMEOUT, find_local_servers, is_local, list_models

from .present import Present

AWAY_SECONDS = 6.0
"""How long a service has to name its models."""
ANTHROPIC_VERSION = "2023-06-01"
OWN = "my-server"
"""The name that a server of another kind gets under ``providers:``."""
_ADDRESS = "http://127.0.0.1:8080/v1"
_CHOOSES = re.compile(r"^HOOKLINE_|_API_KEY$|_BASE_URL$")
"""Variables that can decide which model answers."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A provider to choose.

    ``key`` is the variable of its key, empty for none; ``address`` where it is; ``models`` those
    that are known already. ``asks_address``: the person says where it is, and it has a section
    under ``providers:``. ``variable`` is that of an address which the environment gives.
    """

    name: str
    title: str
    key: str = ""
    address: str = ""
    models: tuple[str, ...] = ()
    asks_address: bool = False
    variable: str = ""


def offers(present: Present, host: Host) -> list[Offer]:
    """What there is to choose, the last one a server that nobody has named yet."""
    made = [_service(entry, present, host) for entry in _services()]
    for found in find_local_servers(present.env):
        server = found.server
        moved = server.url if server.url in os.environ else ""
        title = f"{server.title} at {found.address}, found running"
        if found.models:
            made.append(Offer(server.name, title, "", found.address, found.models, False, moved))
    known = {offer.name for offer in made}
    for name in present.values.get("providers", {}):
        address = present.expanded(present.section("providers", name).get("base_url"))
        if name not in known and address:
            title = f"{name} at {address}, of config.yaml"
            key = present.variable("providers", name, "api_key") or variable_of(name)
            made.append(Offer(name, title, key, address, asks_address=True))
    known = {offer.name for offer in made}
    written = present.values.get("model")
    kept = written.partition("/")[0] if isinstance(written, str) and present.model else ""
    if kept and kept not in known:
        made.append(Offer(kept, f"{kept}, as it is set up now", address=_address(host, kept)))
    name = next(n for n in (OWN, *(f"{OWN}-{i}" for i in range(2, 99))) if n not in known)
    title = "another server that speaks OpenAI's API"
    return [*made, Offer(name, title, variable_of(name), _ADDRESS, asks_address=True)]


def _service(entry: dict[str, str], present: Present, host: Host) -> Offer:
    name = entry["name"]
    written = present.expanded(present.section("providers", name).get("base_url"))
    return Offer(
        name,
        entry["title"] + (f" at {written}" if written else ""),
        present.variable("providers", name, "api_key") or entry["key"],
        written or _address(host, name),
        asks_address=bool(written),
    )


def _address(host: Host, name: str) -> str:
    try:
        return host.provider(name).base_url or ""
    except HooklineError:
        return ""


def variable_of(name: str) -> str:
    """The variable of the key of a provider without a usual one."""
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper() + "_API_KEY"


@cache
def _services() -> list[dict[str, str]]:
    text = files(__package__).joinpath("providers.toml").read_text("utf-8")
    found: list[dict[str, str]] = tomllib.loads(text)["remote"]
    return found


def models_of(name: str, address: str, key: str) -> tuple[str, ...]:
    """The models that a server names; none if it does not."""
    seconds = LOCAL_TIMEOUT if is_local(address) else AWAY_SECONDS
    if name == "anthropic":
        headers = {"x-api-key": key, "anthropic-version": ANTHROPIC_VERSION}
        return list_models(address, headers, seconds, "v1/models?limit=1000") or ()
    return list_models(address, {"Authorization": f"Bearer {key or 'none'}"}, seconds) or ()


def nothing_listens(address: str) -> bool:
    """Whether ``address`` is on this machine and takes no connection; others are not tried."""
    if not is_local(address):
        return False
    parts = urlsplit(address)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), LOCAL_TIMEOUT).close()
    except OSError:
        return True
    return False


def default_model(offer: Offer) -> str:
    """The model that core chooses with this service's key alone; empty if it has none.

    Asked of core in a home and an environment that hold nothing else.
    """
    if not offer.key or offer.asks_address:
        return ""
    with TemporaryDirectory() as home:
        kept = {name: value for name, value in os.environ.items() if not _CHOOSES.search(name)}
        asked = subprocess.run(
            [sys.executable, "-m", "hookline", "run", "--no-input", "/model"],
            env=kept | {"HOOKLINE_HOME": home, offer.key: "unused"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    provider, _, model = asked.stdout.strip().rpartition(" ")[2].partition("/")
    return model if provider == offer.name else ""
