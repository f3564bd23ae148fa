"""Hookline plugin ``web-ui``."""

from __future__ import annotations

from hookline_hookspecs import Plugin

__all__ = ["WebUi"]


class WebUi(Plugin):
    """Hookline plugin ``web-ui``."""
