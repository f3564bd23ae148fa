"""What core tells about itself, as this plugin reaches it."""

from __future__ import annotations

from hookline_hookspecs import Host, Inspection


def inspection(host: Host) -> Inspection:
    """Core's own service; it is always there once the plugin is set up."""
    return host.services[Inspection]
