"""The plugin: the gate for what will be remembered, and what it does with replies."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, Host, Lesson, Plugin, Reply, hookimpl

from .config import RedactConfig

if TYPE_CHECKING:
    from .redactor import Redactor

LONG = 20_000
"""Characters from which on a text is worked on in a thread, as the first one is."""


class Redact(Plugin[RedactConfig]):
    """Replaces secrets and personal data in all that will be remembered."""

    _ready = False

    def __new__(cls, config: RedactConfig, host: Host) -> Redact:
        """With ``outbound`` one that has the hook ``pre_reply``: to have it withholds streaming."""
        return super().__new__(_OutboundRedact if cls is Redact and config.outbound else cls)

    @cached_property
    def _redactor(self) -> Redactor:
        from .redactor import Redactor  # compiles a lot of expressions

        return Redactor(self.config.region, self.config.kinds)

    @hookimpl
    async def pre_learn(self, ctx: Context, lesson: Lesson) -> Lesson | None:
        """The lesson with placeholders; None if there is nothing to replace."""
        text = await self._redacted(lesson.text)
        return replace(lesson, text=text) if text != lesson.text else None

    async def _redacted(self, text: str) -> str:
        if self._ready and len(text) < LONG:
            return self._redactor.redact(text)
        # The first text has the tables read and compiled.
        redacted = await asyncio.to_thread(lambda: self._redactor.redact(text))
        self._ready = True
        return redacted


class _OutboundRedact(Redact):
    """Redacts replies as well."""

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> Reply | None:
        """The reply with placeholders."""
        text = await self._redacted(reply.text)
        return replace(reply, text=text) if text != reply.text else None
