"""Shared code for plugins that send requests to a model's server.

:class:`SdkClient` imports an SDK and makes its client when the first request is sent;
:func:`post_json` sends encoded bytes through it. :class:`Retries` sends a request again and says
so. :class:`ResponseGuard` keeps a response within :class:`Limits`. :class:`Failures` turns any
failure into a ``ProviderError`` with a sentence that names the server and says what to do. No
SDK and no HTTP client is imported before a request is sent.
"""

from .call_arguments import UnreadableArguments, read_arguments
from .causes import PROVIDER_SENTENCES, Cause, is_context_too_long
from .error_body import MAX_QUOTED_CHARS, error_text, hidden_error, retry_after
from .failures import ErrorInResponse, Failures
from .guard import NO_COMPRESSION, ResponseGuard
from .lazy_imports import lazy_imports
from .limits import IDLE_TIMEOUT, TOTAL_TIMEOUT, LimitExceeded, Limits
from .peeked_stream import PeekedStream
from .refused_items import (
    LEFT_OUT_IMAGE,
    MAX_REPAIRS,
    REPAIR_STATUSES,
    describe_repair,
    refused_images,
    refused_tool,
    refuses_repeated_ids,
)
from .retries import RETRY_SECONDS, Retries
from .sanitize import SanitizingSink, sanitize_text, token_count
from .sdk_client import SdkClient, post_json
from .windows import KnownWindows, ask_server, window_in_error

__all__ = [
    "IDLE_TIMEOUT",
    "LEFT_OUT_IMAGE",
    "MAX_QUOTED_CHARS",
    "MAX_REPAIRS",
    "NO_COMPRESSION",
    "PROVIDER_SENTENCES",
    "REPAIR_STATUSES",
    "RETRY_SECONDS",
    "TOTAL_TIMEOUT",
    "Cause",
    "ErrorInResponse",
    "Failures",
    "KnownWindows",
    "LimitExceeded",
    "Limits",
    "PeekedStream",
    "ResponseGuard",
    "Retries",
    "SanitizingSink",
    "SdkClient",
    "UnreadableArguments",
    "ask_server",
    "describe_repair",
    "error_text",
    "hidden_error",
    "is_context_too_long",
    "lazy_imports",
    "post_json",
    "read_arguments",
    "refused_images",
    "refused_tool",
    "refuses_repeated_ids",
    "retry_after",
    "sanitize_text",
    "token_count",
    "window_in_error",
]
