"""Hookline plugin ``webhook``: a channel over HTTP, in and out, every body signed.

Reached by the entry point ``hookline_webhook:Webhook``. :mod:`.channel` is the channel,
:mod:`.server` what listens, :mod:`.body` and :mod:`.signing` what a request must be, and
:mod:`.replies` what is posted to ``reply_url``.
"""

from __future__ import annotations

from .config import WebhookConfig
from .plugin import Webhook

__all__ = ["Webhook", "WebhookConfig"]
