"""What plugins share that send requests to a model's server.

:class:`SdkClient` imports an SDK and makes its client when the first request is sent;
:func:`post_json` sends encoded bytes through it. :class:`Retries` sends a request again and says
so. :class:`Boundary` keeps an answer within :class:`Limits`. :class:`Failures` turns whatever went
wrong into a ``ProviderError`` with a sentence that names the server and says what to do. No SDK and
no HTTP client is imported before a request is sent.
"""

from .boundary import IDENTITY, Boundary
from .causes import Cause, is_too_long
from .content import CleanSink, clean, count
from .failures import Failures, ServerSaid
from .lazy import lazily
from .limits import IDLE, TOTAL, Exceeded, Limits
from .reading import QUOTED, retry_after, words
from .retries import RETRIES, Retries
from .sdk_client import SdkClient, post_json
from .sentences import PROVIDER

__all__ = [
    "IDENTITY",
    "IDLE",
    "PROVIDER",
    "QUOTED",
    "RETRIES",
    "TOTAL",
    "Boundary",
    "Cause",
    "CleanSink",
    "Exceeded",
    "Failures",
    "Limits",
    "Retries",
    "SdkClient",
    "ServerSaid",
    "clean",
    "count",
    "is_too_long",
    "lazily",
    "post_json",
    "retry_after",
    "words",
]
