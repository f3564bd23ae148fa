"""Words for what a message has besides its text: polls, stickers, embeds, components.

Field names are those of discord.com/developers/docs/resources/message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from hookline_channelkit import describe_kind, get_in, link_text

Json: TypeAlias = Mapping[str, Any]
TEXT_DISPLAY = 10
"""Type of a component with a text (discord.com/developers/docs/components/reference)."""
MAX_DEPTH = 8
"""Nesting of components that is read."""


def words_beside_text(message: Json) -> list[str]:
    """Return words for stickers, a poll and the like, which a person sends without a text."""
    words = [
        describe_kind("sticker", get_in(one, "name")) for one in message.get("sticker_items") or ()
    ]
    if poll := message.get("poll"):
        words.append(_poll(poll))
    if "activity" in message:
        words.append(describe_kind("invitation", get_in(message, "application", "name")))
    return words


def words_of_embeds(message: Json) -> list[str]:
    """Return the texts of embeds and components, in which bots write.

    A person's embeds are previews of links.
    """
    return [
        *filter(None, map(_embed, message.get("embeds") or ())),
        *_component_texts(message.get("components"), 0),
    ]


def words_of_files(message: Json) -> list[str]:
    """Return the names of the files of a message that is only quoted."""
    return [
        describe_kind(f"file {get_in(one, 'filename')}".rstrip())
        for one in message.get("attachments") or ()
    ]


def unreadable_in(message: Json) -> str:
    """Return the name of a message without a text, file or other known content."""
    return f"type {message.get('type', 0)}"


def _poll(poll: Json) -> str:
    answers = [
        f"- {get_in(one, 'poll_media', 'text') or get_in(one, 'poll_media', 'emoji', 'name')}"
        for one in poll.get("answers") or ()
    ]
    return "\n".join([describe_kind("poll", get_in(poll, "question", "text")), *answers])


def _embed(embed: Json) -> str:
    title = link_text(str(get_in(embed, "title")), str(get_in(embed, "url")))
    fields = [f"{get_in(one, 'name')}: {get_in(one, 'value')}" for one in embed.get("fields") or ()]
    parts = (
        get_in(embed, "author", "name"),
        title or get_in(embed, "url"),
        get_in(embed, "description"),
        *fields,
        get_in(embed, "footer", "text"),
    )
    return "\n".join(str(part) for part in parts if part)


def _component_texts(components: Any, depth: int) -> Iterator[str]:
    for one in components if isinstance(components, list) and depth < MAX_DEPTH else ():
        if get_in(one, "type") == TEXT_DISPLAY and (text := str(get_in(one, "content"))):
            yield text
        yield from _component_texts(get_in(one, "components", default=[]), depth + 1)
