"""Hookline plugin ``openai-api``: an OpenAI-compatible API for the agent, below ``/v1``.

Reached by the entry point ``hookline_openai_api:OpenAIApi``. :mod:`.keys` holds the clients' keys,
:mod:`.endpoints` the endpoints. :mod:`.chat_request` and :mod:`.response_request` read requests,
:mod:`.session_finder` finds a request's session, :mod:`.active_runs` and :mod:`.api_run` follow its
turn, and :mod:`.chat_format` and :mod:`.response_format` render the answer.
"""

from __future__ import annotations

from .config import OpenAIApiConfig
from .plugin import OpenAIApi

__all__ = ["OpenAIApi", "OpenAIApiConfig"]
