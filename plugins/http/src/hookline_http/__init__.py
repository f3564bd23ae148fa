"""Guarded HTTP: judging addresses and URLs, the operator's network policy, and the client.

Plugins reach it as ``host.http``, a `GuardedHttp`, which core makes through the entry point
``http`` of the group ``hookline.services``. Importing this package does not import httpx2.
"""

from collections.abc import Sequence

from hookline_http.client import GuardedHttp, HttpResponse, HttpStream
from hookline_http.errors import HttpError, HttpFailed, HttpRefused
from hookline_http.judge import Target, judge_address, parse_url
from hookline_http.policy import NetworkPolicy


def make_http(
    *, block_private: bool, allow_hosts: Sequence[str], block_hosts: Sequence[str]
) -> GuardedHttp:
    """The client for one process, from the config section ``network``."""
    return GuardedHttp(
        NetworkPolicy(block_private=block_private, allow_hosts=allow_hosts, block_hosts=block_hosts)
    )


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
    "make_http",
    "parse_url",
]
