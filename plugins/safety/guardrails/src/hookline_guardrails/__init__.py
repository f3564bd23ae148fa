"""Hookline plugin ``guardrails``: stops a model that repeats itself.

The entry point is ``hookline_guardrails:Guardrails``. It implements the hooks ``pre_tool``,
``post_tool`` and ``pre_model``.
"""

from .config import GuardrailsConfig
from .plugin import Guardrails

__all__ = ["Guardrails", "GuardrailsConfig"]
