"""Guarded HTTP: checks of addresses and URLs, the operator's network policy, and the client.

Plugins use it as ``host.http``, a `GuardedHttp`. Importing this package does not import httpx2.
"""

from .addresses import Target, check_address, parse_url
from .client import GuardedHttp, HttpResponse, HttpStream
from .errors import HttpError, HttpFailed, HttpRefused
from .policy import NetworkPolicy

__all__ = [
    "GuardedHttp",
    "HttpError",
    "HttpFailed",
    "HttpRefused",
    "HttpResponse",
    "HttpStream",
    "NetworkPolicy",
    "Target",
    "check_address",
    "parse_url",
]
