"""Anthropic models through the official SDK.

:mod:`.render` encodes requests, :mod:`.body` joins the bytes and places cache breakpoints,
:mod:`.client` sends them, :mod:`.response_reader` reads responses, and :mod:`.provider` puts them
together. The SDK is imported when the first request is sent.
"""

from .provider import AnthropicProvider

__all__ = ["AnthropicProvider"]
