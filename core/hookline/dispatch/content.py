"""Converts a message into the blocks of a turn: text, transcribed voice, images and files."""

from __future__ import annotations

import asyncio
import base64

from hookline_hookspecs import (
    Attachment,
    Audio,
    Block,
    ImageBlock,
    Inbound,
    Origin,
    OriginKind,
    Question,
    TextBlock,
    merge_origins,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.file_origins import FileOrigins

from ..sessions.context import TurnContext

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


async def message_blocks(ctx: TurnContext, inbound: Inbound) -> list[Block]:
    """The user message of a turn. A number that answers the open question becomes its choice."""
    journal, question = ctx.engine.journal, ctx.state.question
    if question and 0 < inbound.received < await journal.last_delivery(ctx.state.record.id):
        question = None  # the message was sent before the question was delivered
    texts, images = [text] if (text := _chosen(question, inbound.text)) else [], []
    for item in inbound.attachments:
        if isinstance(item, Audio):
            texts.append(await _transcribe(ctx, item))
            continue
        if item.mime not in _IMAGES or (item.path.exists() and not item.path.is_file()):
            texts.append(_file_line(item))
            continue
        try:
            data = base64.b64encode(await asyncio.to_thread(item.path.read_bytes))
        except OSError as error:
            texts.append(f"{_file_line(item)[:-1]}, cannot be read: {error.strerror})")
            continue
        images.append(ImageBlock(item.mime, data.decode("ascii"), origins=item.origins))
    marked = await _marked_origins(ctx, inbound)
    origins = merge_origins(inbound_origins(ctx, inbound), marked)
    return [TextBlock("\n\n".join(texts) or "(no text)", origins), *images]


async def _marked_origins(ctx: TurnContext, inbound: Inbound) -> tuple[Origin, ...]:
    """The origins that files of this machine got from a conversation that wrote them."""
    service: FileOrigins | None = ctx.engine.services.get(FileOrigins)
    if service is None or not inbound.attachments:
        return ()
    return await service.of([item.path for item in inbound.attachments])


def inbound_origins(ctx: TurnContext, inbound: Inbound) -> tuple[Origin, ...]:
    """The origins of a message: the person, and what was forwarded or attached."""
    found = [*inbound.origins]
    if inbound.user_id:
        own = TurnContext(ctx.engine, ctx.state, ctx.active, message=inbound)
        kind: OriginKind = "admin" if own.operator else "person"
        if inbound.channel == TERMINAL:
            kind = "operator"
        found.insert(0, Origin(kind, f"{inbound.channel}:{inbound.user_id}"))
    if inbound.forwarded:
        found.append(Origin("outside", f"forwarded from {inbound.forwarded}"))
    return merge_origins(found, *[item.origins for item in inbound.attachments])


async def _transcribe(ctx: TurnContext, audio: Audio) -> str:
    transcript: str | None = await ctx.engine.bus.first("on_voice", ctx, audio, str)
    if transcript is not None:
        return transcript
    ctx.notify("The voice message could not be turned into text.")
    return f"(a voice message of {audio.duration:g} s that could not be turned into text)"


def _chosen(question: Question | None, text: str) -> str:
    """The choice with the number ``text`` if a question is open; else ``text``."""
    numbered = enumerate((*question.choices, "Other"), 1) if question and question.choices else ()
    return {str(n): choice for n, choice in numbered}.get(text.strip().rstrip("."), text)


def _file_line(item: Attachment) -> str:
    return f"(attached file {item.path}: {item.name}, {item.mime}, {item.size} bytes)"
