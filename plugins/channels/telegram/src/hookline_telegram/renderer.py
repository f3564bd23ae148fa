"""Markdown in Telegram's HTML (core.telegram.org/bots/api, HTML style)."""

from __future__ import annotations

from hookline_channelkit import HtmlRenderer


class TelegramHtml(HtmlRenderer):
    """Renders with the tags that the Bot API supports."""

    schemes = HtmlRenderer.schemes | {"tg"}
