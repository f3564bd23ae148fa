"""The text of a message: its own, and that of its blocks, attachments and files.

Alerts and other apps write in blocks (docs.slack.dev/reference/block-kit/blocks) and in attachments
(docs.slack.dev/messaging/formatting-message-text, secondary attachments); in both, ``text`` may be
empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from hookline_channelkit import code_block, code_span, describe_kind, get_in, link_text, quote_block

Json: TypeAlias = Mapping[str, Any]
MAX_DEPTH = 12
"""Nesting of blocks that is read."""
_TEXT_FIELDS = ("title", "subtitle", "label", "text", "body", "description", "details")
_LIST_FIELDS = ("fields", "elements", "tasks")
"""Fields of blocks that hold texts or other blocks."""
_NO_PREVIEW = "[no preview available]"
"""What Slack writes in place of blocks."""
_LINK = re.compile(r"<([^<>\n]+)>")


def unescaped(text: str) -> str:
    """Return Slack's markup without its brackets and entities; links are as in Markdown."""
    shown = _LINK.sub(_shown, text)
    return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _shown(link: re.Match[str]) -> str:
    target, _, label = link[1].partition("|")
    if target[0] in "@#!":
        return ("#" if target[0] == "#" else "@") + (label or target[1:]).lstrip("@#")
    target = target.removeprefix("mailto:")
    return target if not label or label in target else f"{label} ({target})"


def content_of(message: Json) -> str:
    """Return all that a message says: text or blocks, attachments, and the names of its files."""
    attachments = [attachment_text(one) for one in message.get("attachments") or ()]
    return "\n".join(filter(None, (own_text(message), *attachments, *_file_names(message))))


def _file_names(message: Json) -> list[str]:
    return [describe_kind(f"file {_file_name(one)}") for one in message.get("files") or ()]


def own_text(message: Json) -> str:
    """Return the text of a message; for an app's message, that of its blocks too.

    The text of a person's message holds that of its rich text, but not a table or a picture.
    """
    text = unescaped(str(message.get("text") or ""))
    is_of_app = "bot_id" in message or message.get("subtype") == "bot_message"
    if text and not is_of_app:
        return with_tables(text, message)
    blocks = blocks_text(message.get("blocks"))
    return blocks if text in blocks else "\n".join(filter(None, (text, blocks)))


def with_tables(text: str, message: Json) -> str:
    """Return the text of a person's message, and what its blocks show beside rich text."""
    blocks = message.get("blocks")
    if not isinstance(blocks, list):
        return text
    beside = blocks_text([one for one in blocks if get_in(one, "type") != "rich_text"])
    return text if beside in text else "\n".join(filter(None, (text, beside)))


def attachment_text(attachment: Json) -> str:
    """Return the text of an attachment: an alert, a shared message, or the preview of a link."""
    title = link_text(str(get_in(attachment, "title")), str(get_in(attachment, "title_link")))
    fields = [
        ": ".join(filter(None, (str(get_in(one, "title")), unescaped(str(get_in(one, "value"))))))
        for one in attachment.get("fields") or ()
    ]
    blocks = attachment.get("blocks") or get_in(
        attachment, "message_blocks", 0, "message", "blocks", default=()
    )
    parts = (
        unescaped(str(get_in(attachment, "pretext"))),
        unescaped(title),
        unescaped(str(get_in(attachment, "text"))) or blocks_text(blocks),
        *fields,
        link_text("image", image) if (image := str(get_in(attachment, "image_url"))) else "",
        *map(_attached_button, attachment.get("actions") or ()),
        *_file_names(attachment),
    )
    text = "\n".join(part for part in parts if part)
    fallback = unescaped(str(get_in(attachment, "fallback")))
    return text or ("" if fallback == _NO_PREVIEW else fallback)


def blocks_text(blocks: Any) -> str:
    """Return the text of blocks, with code, links and quotes as in Markdown."""
    return "\n".join(text for text in _block_texts(blocks, 0) if text.strip())


def _block_texts(blocks: Any, depth: int) -> Iterator[str]:
    for block in blocks if isinstance(blocks, Sequence) and depth < MAX_DEPTH else ():
        if not isinstance(block, Mapping):
            continue
        match block.get("type"):
            case "rich_text":
                yield from map(_rich, block.get("elements") or ())
            case "markdown" | "plain_text" | "mrkdwn":
                yield unescaped(str(get_in(block, "text")))
            case "image":
                url = str(get_in(block, "image_url") or get_in(block, "slack_file", "url"))
                yield link_text(str(get_in(block, "alt_text", default="image")), url)
            case "actions":
                yield "\n".join(filter(None, map(_button, block.get("elements") or ())))
            case "call":
                call = get_in(block, "call", "v1", default={})
                name = str(get_in(call, "name", default="call"))
                yield link_text(name, str(get_in(call, "join_url")))
            case "video":
                yield from _other_block(block, depth)
                yield str(get_in(block, "title_url"))
            case "table":
                yield from (_row(row, depth) for row in block.get("rows") or ())
            case _:
                yield from _other_block(block, depth)


def _other_block(block: Json, depth: int) -> Iterator[str]:
    """Yield the texts of a section, header, context, or a block that is not known here."""
    parts = [block.get(name) for name in _TEXT_FIELDS]
    parts += [part for name in _LIST_FIELDS for part in block.get(name) or ()]
    parts += [block.get("accessory")]
    for part in parts:
        if isinstance(part, str):
            yield unescaped(part)
        elif isinstance(part, Mapping):
            button = _button(part) if part.get("type") == "button" else None
            yield from [button] if button is not None else _block_texts([part], depth + 1)


def _attached_button(button: Any) -> str:
    url = str(get_in(button, "url"))
    return link_text(str(get_in(button, "text")), url) if url else ""


def _button(button: Any) -> str:
    """Return the link of a button; others do nothing for a reader."""
    url = str(get_in(button, "url"))
    return link_text(str(get_in(button, "text", "text")), url) if url else ""


def _row(row: Any, depth: int) -> str:
    cells = (" ".join(_block_texts([cell], depth + 1)) for cell in row)
    return " | ".join(cell or "" for cell in cells)


def _rich(element: Any) -> str:
    """Return a section, list, quotation or block of code of a rich text."""
    parts = get_in(element, "elements", default=())
    match get_in(element, "type"):
        case "rich_text_preformatted":
            code = "".join(str(get_in(one, "text") or get_in(one, "url")) for one in parts)
            return code_block(code, str(get_in(element, "language")))
        case "rich_text_quote":
            return quote_block("".join(map(_rich_part, parts)))
        case "rich_text_list":
            ordered, indent = get_in(element, "style") == "ordered", get_in(element, "indent")
            first = int(get_in(element, "offset", default=0)) + 1
            marks = [f"{first + n}." if ordered else "-" for n in range(len(parts))]
            margin = "  " * int(indent or 0)
            return "\n".join(
                f"{margin}{mark} {_rich(one)}" for mark, one in zip(marks, parts, strict=True)
            )
    return "".join(map(_rich_part, parts))


def _rich_part(part: Any) -> str:
    text = str(get_in(part, "text"))
    match get_in(part, "type"):
        case "link":
            url = str(get_in(part, "url"))
            return link_text(text, url) if text else url
        case "user":
            return f"@{get_in(part, 'user_id')}"
        case "usergroup" | "broadcast":
            return f"@{get_in(part, 'usergroup_id') or get_in(part, 'range')}"
        case "channel":
            return f"#{get_in(part, 'channel_id')}"
        case "emoji":
            return f":{get_in(part, 'name')}:"
        case "date" | "color":
            return str(
                get_in(part, "fallback") or get_in(part, "value") or get_in(part, "timestamp")
            )
    if get_in(part, "style", "code", default=False):
        return code_span(text)
    if text.strip() and get_in(part, "style", "strike", default=False):
        return f"~~{text}~~"
    return text


def _file_name(file: Any) -> str:
    return str(get_in(file, "name") or get_in(file, "title") or "without a name")
