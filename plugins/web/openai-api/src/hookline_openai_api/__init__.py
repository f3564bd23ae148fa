"""Hookline plugin ``openai-api``: OpenAI's API in front of the agent, below ``/v1``.

Reached by the entry point ``hookline_openai_api:OpenAIApi``. :mod:`.keys` are the clients' keys,
:mod:`.api` the endpoints, :mod:`.chat_request` and :mod:`.response_request` what they are sent,
:mod:`.sessions` finds the session that a request belongs to, :mod:`.runs` and :mod:`.run` follow
its turn, and :mod:`.chat_wire` and :mod:`.response_wire` tell it.
"""

from __future__ import annotations

from .config import OpenAIApiConfig
from .plugin import OpenAIApi

__all__ = ["OpenAIApi", "OpenAIApiConfig"]
