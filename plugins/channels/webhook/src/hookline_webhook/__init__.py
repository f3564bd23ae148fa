"""Hookline plugin ``webhook``: a channel over HTTP in both directions, with signed bodies.

Reached by the entry point ``hookline_webhook:Webhook``. :mod:`.channel` is the channel,
:mod:`.server` answers requests, :mod:`.body` and :mod:`.signature` check them, and :mod:`.replies`
posts to ``reply_url``.
"""

from __future__ import annotations

from .config import WebhookConfig
from .plugin import Webhook

__all__ = ["Webhook", "WebhookConfig"]
