"""Markdown in Telegram's HTML (core.telegram.org/bots/api, HTML style)."""

from __future__ import annotations

from hookline_channelkit import HtmlPainter


class TelegramHtml(HtmlPainter):
    """Only the tags that the Bot API knows."""

    schemes = HtmlPainter.schemes | {"tg"}
