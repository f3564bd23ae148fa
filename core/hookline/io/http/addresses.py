"""Checks single addresses and parses URLs; no lookups, no configuration, no network.

`hookline.io.http.policy` adds the operator's settings, and `hookline.io.http.client` the
connection. The lists are in ``addresses.yaml``.
"""

from __future__ import annotations

import functools
import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from typing import NamedTuple

import yaml

from .errors import HttpRefused

IPAddress = IPv4Address | IPv6Address
MAX_URL_CHARS = 8_192
"""Maximum length of a URL; RFC 9110, section 4.1 recommends at least 8,000 octets."""

_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([^:]*))?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
# WHATWG URL, "ends in a number checker": such a host is parsed as an IPv4 address. No top-level
# domain is a number, so a sign before the number does not make the host a name.
_NUMBER = re.compile(r"-?(?:[0-9]+|0x[0-9a-f]*)")
# UTS #46 maps U+3002 and U+FF61 to a dot; NFKC maps the other look-alikes.
_DOTS = "\u3002\uff61"

# Prefixes of transition formats, and the right shift that extracts the embedded IPv4 address.
_CARRIERS = {
    IPv6Network("::ffff:0:0/96"): 0,  # IPv4-mapped (RFC 4291)
    IPv6Network("::ffff:0:0:0/96"): 0,  # IPv4-translated (RFC 2765)
    IPv6Network("::/96"): 0,  # IPv4-compatible (RFC 4291)
    IPv6Network("64:ff9b::/96"): 0,  # NAT64 (RFC 6052)
    IPv6Network("64:ff9b:1::/48"): 0,  # NAT64 of a local network (RFC 8215)
    IPv6Network("2002::/16"): 80,  # 6to4 (RFC 3056)
    IPv6Network("2001::/32"): 64,  # the server of Teredo (RFC 4380)
}
_PUBLIC_CARRIERS = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
_NAT64_LOCAL, _TEREDO = IPv6Network("64:ff9b:1::/48"), IPv6Network("2001::/32")
_GLOBAL_UNICAST = IPv6Network("2000::/3")


class Lists(NamedTuple):
    """The content of ``addresses.yaml``. Values describe the network, or who runs the service."""

    metadata_addresses: dict[IPAddress, str]
    metadata_names: dict[str, str]
    local_names: frozenset[str]
    networks: dict[IPv4Network | IPv6Network, str]


@functools.cache
def lists() -> Lists:
    """The lists in ``addresses.yaml``, read on the first call."""
    data = yaml.load(
        Path(__file__).with_name("addresses.yaml").read_text(encoding="utf-8"),
        Loader=yaml.CSafeLoader,
    )
    return Lists(
        {ipaddress.ip_address(a): text for a, text in data["metadata_addresses"].items()},
        data["metadata_names"],
        frozenset(data["local_names"]),
        {ipaddress.ip_network(n): text for n, text in (data["ipv4"] | data["ipv6"]).items()},
    )


def forms(address: IPAddress) -> tuple[IPAddress, ...]:
    """`address` and every IPv4 address embedded in it in a transition format.

    Mapped, translated, compatible, NAT64, 6to4, Teredo and ISATAP (RFC 5214).
    """
    if isinstance(address, IPv4Address):
        return (address,)
    return (address, *(IPv4Address(carried & 0xFFFFFFFF) for carried in _carried(int(address))))


def _carried(value: int) -> Iterator[int]:
    """Integers whose low 32 bits are the IPv4 addresses."""
    address = IPv6Address(value)
    yield from (value >> shift for network, shift in _CARRIERS.items() if address in network)
    if address in _NAT64_LOCAL:
        # The network chooses the length of its prefix. Except with 96, bits 64 to 71 are not part
        # of the embedded address (RFC 6052, section 2.2).
        joined = (value >> 64 << 56) | (value & ((1 << 56) - 1))
        yield from (joined >> (88 - length) for length in (48, 56, 64))
    if address in _TEREDO:
        yield ~value  # the client, stored inverted
    if value >> 32 & 0xFDFFFFFF == 0x00005EFE:  # ISATAP; the masked bit is local or universal
        yield value


def check_metadata_address(address: IPAddress) -> str | None:
    """Why `address`, in any form, is a cloud's metadata service, or None."""
    for form in forms(address):
        if operator := lists().metadata_addresses.get(form):
            return f"{address} is a metadata service ({operator.split(' (')[0]})"
    return None


def check_address(address: str | IPAddress) -> str | None:
    """Why `address` is not a public unicast address, or None if it is one.

    The IPv4 addresses embedded in IPv4-mapped, NAT64, 6to4 and ISATAP addresses are checked too.
    ``is_global`` is not used: it accepts some of these forms and differs between patch releases of
    Python. The reason is a clause without a full stop.
    """
    try:
        address = ipaddress.ip_address(address)
    except ValueError:
        return f"{str(address)[:80]!r} is not an IP address"
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return f"{address} names a zone of this machine"
    if reason := check_metadata_address(address):
        return reason
    for form in forms(address):
        via = "" if form == address else f" (it carries {form})"
        for network, text in lists().networks.items():
            if form in network:
                return f"{address} is not a public address{via}: {text}"
    if any(address in network for network in _PUBLIC_CARRIERS):
        return None  # the embedded address has been checked
    public = address.version == 4 or address in _GLOBAL_UNICAST
    return None if public else f"{address} is not a public address"


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a parsed URL.

    scheme: ``http`` or ``https``. host: lower case, ASCII, without a final dot; an IPv6 address
    without brackets. port: always set. path: path and query as written, at least ``/``.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """The origin (RFC 6454); credentials are only sent within it."""
        return self.scheme, self.host, self.port

    @property
    def url(self) -> str:
        """The normalised URL, without a fragment."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


def parse_url(url: str) -> Target:
    """Parse an absolute http or https URL.

    Raises HttpRefused for a URL that parsers could read differently, and for other invalid ones.
    """
    if len(url) > MAX_URL_CHARS:
        raise HttpRefused(f"The URL has {len(url)} characters; the maximum is {MAX_URL_CHARS}.")
    try:
        return _parse(url)
    except ValueError as fault:
        raise HttpRefused(f"The URL {url[:200]!r} is refused: {fault}.") from None


def _parse(url: str) -> Target:
    if _CONTROL.search(url):
        raise ValueError("it contains control characters")
    parts = _URL.fullmatch(url)
    if parts is None:
        raise ValueError("it is not of the form https://host/path")
    scheme, authority, path, query = parts[1].lower(), parts[2], parts[3], parts[4]
    if scheme not in _PORTS:
        raise ValueError(f"only http and https are fetched, not {scheme[:40]}")
    host, port = _split_authority(authority)
    return Target(scheme, normal_host(host), port or _PORTS[scheme], (path or "/") + (query or ""))


def _split_authority(authority: str) -> tuple[str, int | None]:
    plain = unicodedata.normalize("NFKC", authority)
    if plain.count("@") > 1:
        raise ValueError("its host part has several @")
    if "@" in plain:
        raise ValueError("it contains a user name or password: pass credentials as a header")
    if re.search(r"[\\%\s]", plain):
        raise ValueError("its host part has white space, a backslash or a percent sign")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise ValueError("its host part is ambiguous: put an IPv6 address in square brackets")
    host, port = parts[1], parts[2]
    return host, None if port is None else read_port(port)


def read_port(text: str) -> int:
    """Parse a decimal port. Raises ValueError with a clause."""
    if not _PORT.fullmatch(text) or int(text) > 65_535:
        raise ValueError(f"{text[:20]!r} is not a port from 1 to 65535")
    return int(text)


def normal_host(host: str) -> str:
    """Normalise a host: ASCII (IDNA 2008, RFC 5891), lower case, without a final dot.

    The brackets of an IPv6 address are removed. Raises ValueError with a clause for an invalid host
    name, for an IPv4 address that is not four decimal numbers, and for characters that only look
    like ASCII.
    """
    if host.startswith("[") or ":" in host:
        return _normal_ipv6(host.removeprefix("[").removesuffix("]"))
    host = host.lower() if host.isascii() else _to_ascii(host)
    host = host.removesuffix(".")
    labels = host.split(".")
    if not host:
        raise ValueError("it names no host")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"{host[:80]!r} is not a host name")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            fault = f"{host[:80]!r} is not a plain IPv4 address, such as 198.51.100.7"
            raise ValueError(fault) from None
    return host


def _normal_ipv6(text: str) -> str:
    try:
        address = IPv6Address(text)
    except ValueError:
        raise ValueError(f"{text[:80]!r} is not an IPv6 address") from None
    if address.scope_id is not None:
        raise ValueError("it names a zone of this machine")
    return str(address)


def _to_ascii(host: str) -> str:
    """The ASCII form of an international host name."""
    import idna  # imported here, because its tables are large and few hosts need them

    for character in host:
        plain = unicodedata.normalize("NFKC", character)
        if character in _DOTS or (plain.isascii() and plain != character):
            raise ValueError(f"{character!r} in its host only looks like ASCII: write it in ASCII")
    if "".join(str(unicodedata.digit(c, c)) for c in host).isascii():
        raise ValueError("its host is written with digits of another script")
    try:
        return idna.encode(unicodedata.normalize("NFC", host).lower()).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise ValueError(f"{host[:80]!r} is not a host name") from None
