"""Hookline plugin ``web-server``."""

from __future__ import annotations

from hookline_hookspecs import Plugin

__all__ = ["WebServerPlugin"]


class WebServerPlugin(Plugin):
    """Hookline plugin ``web-server``."""
