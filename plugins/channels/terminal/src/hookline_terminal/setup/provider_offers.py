"""The providers that `hookline init` offers: services, local servers, and those of the config."""

from __future__ import annotations

import os
import re
import socket
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from hookline_hookspecs import Configuration, HooklineError, Host
from hookline_hookspecs.sentences import N_
from hookline_providerkit.servers import LOCAL_TIMEOUT, find_local_servers, is_local, list_models

from .current_setup import CurrentSetup

REMOTE_TIMEOUT = 6.0
"""Seconds for a service to list its models."""
ANTHROPIC_VERSION = "2023-06-01"
OWN_SERVER = "my-server"
"""The name of a new server under ``providers:``."""
_EXAMPLE_ADDRESS = "http://127.0.0.1:8080/v1"


@dataclass(frozen=True, slots=True)
class ProviderOffer:
    """A provider to choose.

    Attributes:
        name: its name in ``config.yaml``.
        title: the text of the option.
        key: the variable of its key; empty for none.
        address: its URL.
        models: the models that are known already.
        asks_address: whether the person is asked for the address, which goes under ``providers:``.
        variable: the variable of an address that the environment sets.
        default: the model to suggest; empty if there is none.
    """

    name: str
    title: str
    key: str = ""
    address: str = ""
    models: tuple[str, ...] = ()
    asks_address: bool = False
    variable: str = ""
    default: str = ""


def offers(current: CurrentSetup, host: Host) -> list[ProviderOffer]:
    """Return the providers to choose from; the last is a new server."""
    made = [_service(entry, current, host) for entry in _services()]
    for found in find_local_servers(current.env):
        server = found.server
        moved = server.url if server.url in os.environ else ""
        title = N_(f"{server.title} at {found.address}, found running")
        if found.models:
            made.append(
                ProviderOffer(server.name, title, "", found.address, found.models, False, moved)
            )
    known = {offer.name for offer in made}
    for name in current.values.get("providers", {}):
        address = current.expanded(current.section("providers", name).get("base_url"))
        if name not in known and address:
            title = N_(f"{name} at {address}, from config.yaml")
            key = current.variable("providers", name, "api_key") or variable_of(name)
            made.append(ProviderOffer(name, title, key, address, asks_address=True))
    known = {offer.name for offer in made}
    written = current.values.get("model")
    now = written.partition("/")[0] if isinstance(written, str) and current.model else ""
    if now and now not in known:
        made.append(ProviderOffer(now, N_(f"{now} (current)"), address=_address(host, now)))
    names = (OWN_SERVER, *(f"{OWN_SERVER}-{number}" for number in range(2, 99)))
    name = next(name for name in names if name not in known)
    title = N_("another OpenAI-compatible server")
    return [
        *made,
        ProviderOffer(name, title, variable_of(name), _EXAMPLE_ADDRESS, asks_address=True),
    ]


def _service(entry: dict[str, str], current: CurrentSetup, host: Host) -> ProviderOffer:
    name = entry["name"]
    written = current.expanded(current.section("providers", name).get("base_url"))
    return ProviderOffer(
        name,
        entry["title"] + (f" at {written}" if written else ""),
        current.variable("providers", name, "api_key") or entry["key"],
        written or _address(host, name),
        asks_address=bool(written),
        default="" if written else host.services[Configuration].preset_model(name),
    )


def _address(host: Host, name: str) -> str:
    try:
        return host.provider(name).base_url or ""
    except HooklineError:
        return ""


def variable_of(name: str) -> str:
    """Return the variable for the key of a provider that has no usual one."""
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper() + "_API_KEY"


@cache
def _services() -> list[dict[str, str]]:
    text = files(__package__).joinpath("providers.toml").read_text("utf-8")
    found: list[dict[str, str]] = tomllib.loads(text)["remote"]
    return found


def models_of(name: str, address: str, key: str) -> tuple[str, ...]:
    """Return the models that a server lists; none if it does not."""
    timeout = LOCAL_TIMEOUT if is_local(address) else REMOTE_TIMEOUT
    if name == "anthropic":
        headers = {"x-api-key": key, "anthropic-version": ANTHROPIC_VERSION}
        return list_models(address, headers, timeout, "v1/models?limit=1000") or ()
    return list_models(address, {"Authorization": f"Bearer {key or 'none'}"}, timeout) or ()


def nothing_listens(address: str) -> bool:
    """Whether ``address`` is on this machine and refuses connections; others are not tried."""
    if not is_local(address):
        return False
    parts = urlsplit(address)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), LOCAL_TIMEOUT).close()
    except OSError:
        return True
    return False
