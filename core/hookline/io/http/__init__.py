"""Guarded HTTP: judging addresses and URLs, the operator's network policy, and the client.

Plugins reach it as ``host.http``, a `GuardedHttp`. Importing this package does not import httpx2.
"""

from .client import GuardedHttp, HttpResponse, HttpStream
from .errors import HttpError, HttpFailed, HttpRefused
from .judge import Target, judge_address, parse_url
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
    "judge_address",
    "parse_url",
]
