"""What plugins share that ask a model's server: one boundary, connection pools, typed errors.

:class:`Boundary` lets through an answer within :class:`Limits` or an error, and nothing else.
:class:`Retries` sends a request again and tells a person of the wait. :class:`Pools` opens an SDK's
clients as they are needed, :class:`Sender` sends bodies with one of them, :func:`lazily` imports an
SDK without the types that nobody asks for. :class:`Failures` makes an error of
``hookline_hookspecs`` of whatever went wrong, with a sentence that names the server and says what
to do. No SDK and no HTTP client is imported before a request is sent.
"""

from .boundary import IDENTITY, Boundary
from .causes import Cause, is_too_long
from .content import CleanSink, clean, count
from .events import read_events
from .failures import Failures, ServerSaid
from .lazy import lazily
from .limits import IDLE, TOTAL, Exceeded, Limits
from .pools import Pools
from .reading import QUOTED, retry_after, words
from .retries import RETRIES, Retries
from .sender import Sender
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
    "Pools",
    "Retries",
    "Sender",
    "ServerSaid",
    "clean",
    "count",
    "is_too_long",
    "lazily",
    "read_events",
    "retry_after",
    "words",
]
