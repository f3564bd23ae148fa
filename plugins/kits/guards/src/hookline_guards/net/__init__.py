"""Guarded HTTP: judging addresses and URLs, the operator's network policy, and the client.

Plugins reach it as ``host.http``, a `GuardedHttp`. Importing this package does not import httpx2.
"""

from hookline_guards.net.client import GuardedHttp, HttpResponse, HttpStream
from hookline_guards.net.errors import HttpError, HttpFailed, HttpRefused
from hookline_guards.net.judge import Target, judge_address, parse_url
from hookline_guards.net.policy import NetworkPolicy

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
