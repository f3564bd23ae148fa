"""Hookline plugin ``web-server``: one listener, with login, rules and limits, for every plugin that
speaks HTTP.

Reached by the entry point ``hookline_web_server:WebServerPlugin``. :mod:`.service` is what other
plugins see, :mod:`.server` the listener, :mod:`.site` the way of a request: :mod:`.rules`,
:mod:`.table`, :mod:`.logins`, :mod:`.limits`, the handler, :mod:`.answers`.
"""

from __future__ import annotations

from .config import WebServerConfig
from .plugin import WebServerPlugin

__all__ = ["WebServerConfig", "WebServerPlugin"]
