"""Blocks of the bot's messages: a markdown block or a plain section, and buttons."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hookline_channelkit import MessageTooLong, SendOptions
from hookline_hookspecs import Choice
from hookline_hookspecs.visible_text import other_host, spell_out, spell_out_prose

from .config import Json
from .events import escaped

MARKDOWN, PLAIN, FALLBACK = 12_000, 3_000, 2_000
"""Characters: of markdown blocks together, of a section, and of the text for notifications, of
which 4,000 are allowed (docs.slack.dev/reference/block-kit/blocks)."""
BUTTONS, LABEL = 25, 75
"""Of a block of actions (docs.slack.dev/reference/block-kit/block-elements/button-element)."""
STYLES = {"primary", "danger"}
_HALF = re.compile(r"&\w{0,3}$")
_QUOTE = re.compile(r"^[ \t]*(?:&gt; ?)+", re.MULTILINE)
_IMAGE = re.compile(r"!(?=\[[^\]\n]*\]\()")
_LINK = re.compile(r"\[([^\]\n]+)\]\(<?(\w+:[^\s)>]+)>?(?:\s[^)\n]*)?\)")
_BARE = re.compile(r"&lt;(https?://[^\s<>]+?)&gt;")


def rendered(markdown: str) -> str:
    """Return Markdown for a markdown block, without mentions; an image becomes a link.

    A link whose text names another host says its own.
    """
    shown = _LINK.sub(_with_host, _IMAGE.sub("", spell_out_prose(markdown)))
    text = _BARE.sub(r"\1", escaped(shown))
    return _QUOTE.sub(lambda quote: quote[0].replace("&gt;", ">"), text)


def _with_host(link: re.Match[str]) -> str:
    host = other_host(link[1], link[2])
    return f"{link[0]} (→ {host})" if host else link[0]


def payload_of(text: str, post: SendOptions) -> Json:
    """Return the fields of a message; its ``text`` is for notifications and screen readers."""
    short = _HALF.sub("", (text if post.rich else escaped(text))[:FALLBACK])
    if post.rich:
        first: Json = {"type": "markdown", "text": text}
    elif len(text) > PLAIN:
        raise MessageTooLong(f"{len(text)} characters of {PLAIN}")
    else:
        first = {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}
    return {"text": short, "blocks": [first, *_actions(post.choices)]}


def without_buttons(message: Json) -> Json:
    """Return the fields of a pressed message, without its buttons."""
    blocks = [one for one in message.get("blocks") or () if one.get("type") != "actions"]
    return {"text": str(message.get("text") or ""), "blocks": blocks}


def _actions(choices: Sequence[Choice]) -> list[Json]:
    if not choices:
        return []
    return [{"type": "actions", "elements": [_button(n, one) for n, one in enumerate(choices)]}]


def _button(number: int, choice: Choice) -> Json:
    """Return a button; its value is its number, which the kit maps to the choice."""
    label = spell_out(choice.label)
    shown = label if len(label) <= LABEL else label[: LABEL - 1] + "…"
    button: Json = {
        "type": "button",
        "text": {"type": "plain_text", "text": shown},
        "action_id": f"choice_{number}",
        "value": str(number),
    }
    return button | ({"style": choice.style} if choice.style in STYLES else {})
