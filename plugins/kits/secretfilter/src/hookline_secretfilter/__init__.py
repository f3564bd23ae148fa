"""One filter that keeps every configured secret out of logs, errors and what is shown.

Core adds the secrets of a config as it is resolved (service ``secrets``, :class:`ProcessFilter`);
from then on :func:`redacted` and every log record of the process are without them. Nothing is
imported but the standard library.
"""

from .filter import MASK, SHORTEST, SecretFilter
from .forms import forms
from .logs import open_log
from .process import ProcessFilter, redacted

__all__ = ["MASK", "SHORTEST", "ProcessFilter", "SecretFilter", "forms", "open_log", "redacted"]
