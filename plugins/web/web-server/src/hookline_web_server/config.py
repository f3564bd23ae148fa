"""The settings of the web server, and what must be right about them."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from hookline_webkit.address import Address, is_loopback, parse_address
from pydantic import BaseModel, Field, field_validator

WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - what people write, judged below


class Tls(BaseModel):
    """A certificate of one's own."""

    cert: Path = Field(description="The certificate chain, a PEM file.")
    key: Path = Field(description="Its private key, a PEM file.")


class WebServerConfig(BaseModel):
    """Where to listen, and under which names the server is reached."""

    listen: str = Field(default="127.0.0.1:8780", description="host:port to listen on.")
    public_url: str | None = Field(
        default=None,
        description="The address people type, if it is not http://LISTEN: https://example.org "
        "behind a proxy.",
    )
    hosts: list[str] = Field(
        default=[], description="More names under which requests may come, with or without a port."
    )
    trusted_proxies: list[str] = Field(
        default=[],
        description="Addresses or networks of proxies whose X-Forwarded-For and "
        "X-Forwarded-Proto are believed.",
    )
    tls: Tls | None = Field(default=None, description="Speak HTTPS without a proxy.")
    insecure_http: bool = Field(
        default=False,
        description="Listen on an address that others reach although nothing is encrypted.",
    )

    @field_validator("listen")
    @classmethod
    def _can_be_listened_on(cls, listen: str) -> str:
        parse_address(listen)
        return listen

    @field_validator("public_url")
    @classmethod
    def _is_an_origin(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username
        if parts.scheme not in ("http", "https") or not parts.hostname or extra:
            raise ValueError("write a scheme and a host alone, such as https://example.org")
        return f"{parts.scheme}://{parts.netloc}".lower()

    @field_validator("hosts")
    @classmethod
    def _are_hosts(cls, hosts: list[str]) -> list[str]:
        for host in hosts:
            if not host or "/" in host or "*" in host or host != host.strip():
                raise ValueError(f"{host!r} is no host; write a name such as example.org")
        return [host.lower() for host in hosts]

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, networks: list[str]) -> list[str]:
        for network in networks:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError:
                raise ValueError(f"{network!r} is no address and no network") from None
        return networks

    @property
    def address(self) -> Address:
        """Where to listen."""
        return parse_address(self.listen)

    @property
    def is_https(self) -> bool:
        """Whether people reach the server by HTTPS, as far as config says."""
        return self.tls is not None or (self.public_url or "").startswith("https:")

    def url(self, port: int | None = None) -> str:
        """Return the address to open, without a slash at the end.

        Args:
            port: the port that is listened on, where ``listen`` leaves the choice to the system.
        """
        if self.public_url is not None:
            return self.public_url
        address = self.address
        host = (self.hosts or ["127.0.0.1"])[0] if address.host in WILDCARDS else address.host
        where = Address(host, port or address.port) if ":" not in host or "::" in host else host
        return f"{'https' if self.tls else 'http'}://{where}"

    def fault(self) -> str | None:
        """Return why the server must not start, as a sentence, or None."""
        if is_loopback(self.address.host) or self.is_https or self.insecure_http:
            return None
        return (
            f"web-server.listen is {self.listen}, which other machines reach, and nothing would be "
            "encrypted: listen on 127.0.0.1 behind a proxy and set public_url: https://…, or set "
            "tls: {cert: …, key: …}; insecure_http: true does without"
        )
