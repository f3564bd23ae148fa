"""The operator's network settings, applied to names and to the addresses they resolve to."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network

from .addresses import (
    IPAddress,
    check_address,
    check_metadata_address,
    forms,
    lists,
    normal_host,
    read_port,
)
from .errors import HttpRefused

_ENTRY = re.compile(r"(\[[^\[\]]*\](?:/[0-9]+)?|[^:\[\]]+)(?::([0-9]+))?")


@dataclass(frozen=True, slots=True)
class _Rule:
    """One entry of the configuration."""

    text: str
    place: str | IPv4Network | IPv6Network  # a host, ".host" for all hosts below it, or a network
    port: int | None

    def covers(self, place: str | IPAddress, port: int) -> bool:
        if self.port not in (None, port):
            return False
        if isinstance(self.place, str):
            below = self.place.startswith(".") and str(place).endswith(self.place)
            return place == self.place or below
        return not isinstance(place, str) and place in self.place


def _rule(entry: str, key: str) -> _Rule:
    try:
        return _read_entry(entry.strip())
    except (ValueError, AttributeError) as fault:
        raise ValueError(
            f"network.{key}: {entry!r} cannot be used ({fault}). Write a host (example.org), "
            "all hosts below it (*.example.org), an address or a network (10.0.0.0/8), each "
            "optionally with a port (localhost:8080, [::1]:8080)."
        ) from None


def _read_entry(text: str) -> _Rule:
    host, port = text, None
    if text.count(":") < 2 or "[" in text:  # otherwise an IPv6 address or network without a port
        parts = _ENTRY.fullmatch(text)
        if parts is None:
            raise ValueError("leave out the scheme and the path")
        host, port = re.sub(r"[\[\]]", "", parts[1]), read_port(parts[2]) if parts[2] else None
    if "/" in host:
        return _Rule(text, ipaddress.ip_network(host), port)
    host, below = normal_host(host.removeprefix("*.")), host.startswith("*.")
    address = _address(host)
    if below and address:
        raise ValueError("*. can only precede a name, not an address")
    return _Rule(text, ipaddress.ip_network(address) if address else "." * below + host, port)


def _match(rules: Iterable[_Rule], places: Iterable[str | IPAddress], port: int) -> _Rule | None:
    """The first of the `rules` that covers one of the `places`."""
    places = list(places)
    return next((rule for rule in rules if any(rule.covers(p, port) for p in places)), None)


class NetworkPolicy:
    """Decides which hosts and addresses may be reached: `check_name`, then `check_addresses`.

    block_private: refuse addresses that are not public.
    allow_hosts: exempt from that check, but not from the refusal of metadata services; other hosts
    stay allowed. A network exempts the addresses in it under any name.
    block_hosts: always refused; a network refuses every name that resolves to an address in it.

    An entry is a host, ``*.host`` (all hosts below it), an IP address or a CIDR network, each with
    an optional port. An invalid entry raises ValueError with a sentence.
    """

    def __init__(
        self,
        block_private: bool = True,
        allow_hosts: Sequence[str] = (),
        block_hosts: Sequence[str] = (),
    ) -> None:
        self.block_private = block_private
        self._allow = [_rule(entry, "allow_hosts") for entry in allow_hosts]
        self._block = [_rule(entry, "block_hosts") for entry in block_hosts]

    def check_name(self, host: str, port: int) -> None:
        """Raise HttpRefused if the name `host` may not be reached on `port`.

        If it is an IP address, this is the whole check.
        """
        host = _normal(host)
        if _address(host):
            self.check_addresses(host, port, [host])
            return
        if any(host == name or host.endswith("." + name) for name in lists().metadata_names):
            raise HttpRefused(f"The host {host} is refused: it is a metadata service.")
        if rule := _match(self._block, [host], port):
            raise HttpRefused(f"The host {host} is blocked by network.block_hosts ({rule.text}).")
        local = host in lists().local_names or host.endswith(".localhost")
        if local and self.block_private and not _match(self._allow, [host], port):
            raise HttpRefused(_private(host, port, f"{host} is this machine"))

    def check_addresses(self, host: str, port: int, addresses: Iterable[str]) -> None:
        """Raise HttpRefused if one of the `addresses` that `host` resolved to may not be reached.

        If one of several addresses is refused, so is the name, because the next lookup may return
        that address first.
        """
        host = _normal(host)
        for text in addresses:
            address = _address(text)
            if address is None:
                raise HttpRefused(f"The host {host} is refused: {check_address(text)}.")
            if reason := check_metadata_address(address):
                raise HttpRefused(f"The host {host} is refused: {reason}.")
            if rule := _match(self._block, [host, *forms(address)], port):
                raise HttpRefused(
                    f"The host {host} ({address}) is blocked by network.block_hosts ({rule.text})."
                )
            # An IPv4-mapped address is dialled as IPv4; other forms go through a gateway.
            plain = (isinstance(address, IPv6Address) and address.ipv4_mapped) or address
            if not self.block_private or _match(self._allow, [host, address, plain], port):
                continue
            if reason := check_address(address):
                raise HttpRefused(_private(host, port, reason))


def _normal(host: str) -> str:
    try:
        return normal_host(host)
    except ValueError as fault:
        raise HttpRefused(f"The host {host[:80]!r} is refused: {fault}.") from None


def _private(host: str, port: int, reason: str) -> str:
    shown = f"[{host}]" if ":" in host else host
    return (
        f"The host {host} is refused: {reason}. To allow it, the operator can add {shown}:{port} "
        "to network.allow_hosts."
    )


def _address(text: str) -> IPAddress | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return None if isinstance(address, IPv6Address) and address.scope_id else address
