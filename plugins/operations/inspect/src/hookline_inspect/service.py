"""Gives the service through which core describes itself."""

from __future__ import annotations

from hookline_hookspecs import Host, Inspection


def inspection(host: Host) -> Inspection:
    """Core's service ``Inspection``; it always exists once the plugin is set up."""
    return host.services[Inspection]
