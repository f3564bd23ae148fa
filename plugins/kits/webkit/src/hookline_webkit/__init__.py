"""Library for plugins that serve HTTP.

:mod:`.address` parses where to listen, :mod:`.listener` runs an ASGI application on uvicorn with
the connections of :mod:`.connections`, :mod:`.assets` serves scripts and styles, and :mod:`.relay`
passes live events between processes that share a store. Only :mod:`.listener` and
:mod:`.connections` import uvicorn.
"""

from __future__ import annotations

from .address import Address, is_loopback, parse_address

__all__ = ["Address", "is_loopback", "parse_address"]
