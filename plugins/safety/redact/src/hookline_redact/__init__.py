"""Hookline plugin ``redact``: replaces secrets and personal data with placeholders.

The entry point is ``hookline_redact:Redact``. It implements the guard ``pre_learn``, and the hook
``pre_reply`` if its setting ``outbound`` is true.

Secrets in tool results are masked elsewhere: by the hook ``post_tool`` of the plugin ``vault``, in
``hookline_vault.plugin``.
"""

from .config import RedactConfig
from .plugin import Redact

__all__ = ["Redact", "RedactConfig"]
