"""Hookline plugin ``guardrails``: stops a model that goes in circles.

Reached by the entry point ``hookline_guardrails:Guardrails``; it implements the hooks ``pre_tool``,
``post_tool`` and ``pre_model``.
"""

from .config import GuardrailsConfig
from .plugin import Guardrails

__all__ = ["Guardrails", "GuardrailsConfig"]
