"""What plugins share that ask a model's server: connection pools, and failures as typed errors.

:class:`Pools` opens an SDK's clients as they are needed. :class:`Failures` makes an error of
``hookline_hookspecs`` of whatever went wrong, with a sentence that names the server and says what
to do. No SDK and no HTTP client is imported before a request is sent.
"""

from .causes import Cause
from .failures import Failures, ServerSaid
from .pools import Pools
from .reading import QUOTED, retry_after, words
from .sentences import PROVIDER

__all__ = ["PROVIDER", "QUOTED", "Cause", "Failures", "Pools", "ServerSaid", "retry_after", "words"]
