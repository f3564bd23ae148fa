"""Anthropic models through the official SDK.

:mod:`.render` encodes requests, :mod:`.markers` places cache breakpoints, :mod:`.body` joins the
bytes, :mod:`.answer` reads replies, :mod:`.errors` turns failures into sentences, and
:mod:`.provider` puts them together. The SDK is imported when the first request is sent.
"""

from .provider import AnthropicProvider

__all__ = ["AnthropicProvider"]
