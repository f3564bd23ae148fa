"""What ``hookline doctor`` looks at: address, port, public name, and who lets people in."""

from __future__ import annotations

import errno
import os
import socket

from hookline_hookspecs import Access, CheckResult, Host
from hookline_webkit.address import is_loopback

from .config import WebServerConfig
from .running import find


async def port_check(config: WebServerConfig, host: Host) -> CheckResult:
    """Whether the address can be listened on, or is by this home's own gateway."""
    address = config.address
    if (url := await find(host)) is not None:
        return CheckResult(True, f"the gateway serves {url}")
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        socket.create_server(address, family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            detail = f"another program listens on {address}"
            fix = f"stop it, or set web-server.listen: {address.host}:PORT"
            return CheckResult(False, detail, fix)
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        detail = f"cannot listen on {address}: {why}"
        return CheckResult(False, detail, "set web-server.listen to an address of this machine")
    return CheckResult(True, f"{address} is free")


def address_check(config: WebServerConfig) -> CheckResult:
    """Whether what others reach is encrypted."""
    fault = config.fault()
    if fault is not None:
        what, _, fix = fault.partition(": ")
        return CheckResult(False, what, fix)
    if is_loopback(config.address.host):
        return CheckResult(True, f"{config.listen} is reached from this machine alone")
    if config.is_https:
        return CheckResult(True, f"{config.listen} is reached by HTTPS")
    return CheckResult(
        False,
        f"{config.listen} is reached by others and nothing is encrypted, as insecure_http wants",
        "set tls, or public_url: https://… behind a proxy",
        hint=True,
    )


def name_check(config: WebServerConfig) -> CheckResult:
    """Whether the name that people type is one the server answers to, and a proxy is believed."""
    if config.public_url is None:
        if config.trusted_proxies:
            return CheckResult(
                False,
                "trusted_proxies is set and public_url is not, so links lead past the proxy",
                "set web-server.public_url to the address that people type",
            )
        return CheckResult(True, f"people open {config.url()}")
    if not config.trusted_proxies and config.tls is None:
        return CheckResult(
            False,
            f"people open {config.public_url}; without trusted_proxies all of them share the "
            "limit of five logins a minute",
            "set web-server.trusted_proxies to the proxy's address, such as [127.0.0.1]",
            hint=True,
        )
    return CheckResult(True, f"people open {config.public_url}")


def access_check(host: Host) -> CheckResult:
    """Whether a plugin keeps the list of people."""
    if host.services.get(Access) is not None:
        return CheckResult(True, "a plugin decides who may come in")
    return CheckResult(
        False,
        "no plugin keeps the list of people, so whoever has a link stays in for 30 days",
        "hookline plugins enable access",
        hint=True,
    )
