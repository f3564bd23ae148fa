"""Hookline plugin ``redact``: puts placeholders in the place of secrets and personal data.

Reached by the entry point ``hookline_redact:Redact``; it implements the gate ``pre_learn``, and
the hook ``pre_reply`` where its setting ``outbound`` is true.
"""

from .config import RedactConfig
from .plugin import Redact

__all__ = ["Redact", "RedactConfig"]
