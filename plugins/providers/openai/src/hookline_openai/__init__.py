"""Hookline provider for OpenAI and every server that speaks its wire.

Entry point ``openai`` of ``hookline.providers``; the SDK is imported when the first request is
sent.
"""

from .provider import OpenAIProvider

__all__ = ["OpenAIProvider"]
