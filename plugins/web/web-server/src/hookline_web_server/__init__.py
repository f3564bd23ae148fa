"""Hookline plugin ``web-server``: one HTTP server with login, checks and limits, for all plugins.

Reached by the entry point ``hookline_web_server:WebServerPlugin``. :mod:`.service` is the service
that other plugins use, :mod:`.server` the listener. :mod:`.application` passes a request through
:mod:`.request_rules`, :mod:`.route_table`, :mod:`.logins`, :mod:`.limits`, the handler and
:mod:`.responses`.
"""

from __future__ import annotations

from .config import WebServerConfig
from .plugin import WebServerPlugin

__all__ = ["WebServerConfig", "WebServerPlugin"]
