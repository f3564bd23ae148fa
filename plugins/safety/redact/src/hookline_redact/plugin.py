"""The plugin: redacts what will be remembered and, if configured, replies."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, Host, Lesson, Plugin, Reply, hookimpl
from hookline_hookspecs.optional_services import TextRedaction

from .config import RedactConfig

if TYPE_CHECKING:
    from .redactor import Redactor

THREAD_MIN_CHARS = 20_000
"""Texts of at least this many characters are redacted in a thread, as is the first text."""


class Redact(Plugin[RedactConfig]):
    """Replaces secrets and personal data in everything that will be remembered."""

    _is_loaded = False

    def __new__(cls, config: RedactConfig, host: Host) -> Redact:
        """With ``outbound``, make the subclass with ``pre_reply``, a hook that stops streaming."""
        return super().__new__(_OutboundRedact if cls is Redact and config.outbound else cls)

    @cached_property
    def _redactor(self) -> Redactor:
        from .redactor import Redactor  # slow to import: it compiles many expressions

        return Redactor(self.config.region, self.config.kinds)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the redaction to plugins that send text elsewhere."""
        host.services.provide(TextRedaction, self)

    def redact(self, text: str) -> str:
        """Return the text with placeholders (:class:`TextRedaction`)."""
        return self._redactor.redact(text)

    @hookimpl
    async def pre_learn(self, ctx: Context, lesson: Lesson) -> Lesson | None:
        """The lesson with placeholders; None if nothing was replaced."""
        text = await self._redact(lesson.text)
        return replace(lesson, text=text) if text != lesson.text else None

    async def _redact(self, text: str) -> str:
        if self._is_loaded and len(text) < THREAD_MIN_CHARS:
            return self._redactor.redact(text)
        # The first call reads and compiles the tables.
        redacted = await asyncio.to_thread(lambda: self._redactor.redact(text))
        self._is_loaded = True
        return redacted


class _OutboundRedact(Redact):
    """Redacts replies too."""

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply | None:
        """The reply with placeholders; None if nothing was replaced."""
        text = await self._redact(reply.text)
        return replace(reply, text=text) if text != reply.text else None
