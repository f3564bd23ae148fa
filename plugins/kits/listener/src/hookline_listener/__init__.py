"""An HTTP server in the gateway's event loop, for plugins that listen.

:mod:`.address` is where one listens. :mod:`.server` and :mod:`.connections` import uvicorn, so they
are imported by their own names, when a plugin begins to listen.
"""

from __future__ import annotations

from .address import Address, address_of, is_loopback

__all__ = ["Address", "address_of", "is_loopback"]
