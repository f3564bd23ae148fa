"""Hookline plugin ``openai-api``."""

from __future__ import annotations

from hookline_hookspecs import Plugin

__all__ = ["OpenAIApi"]


class OpenAIApi(Plugin):
    """Hookline plugin ``openai-api``."""
