"""Messages as Feishu has them: posts with Markdown, plain posts, cards; and how long they are."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from hookline_channelkit import MarkdownRenderer, render_markdown
from hookline_hookspecs import Choice

from .api import Json

WORDS = "words"
"""The id of the element of a card that holds the answer."""
_SPECIAL = re.compile(r"[<>*~`\[\]]|(?<!\w)_|_(?!\w)|^[-+#](?= )", re.MULTILINE)
_TABLE = re.compile(r"^\|(?: -+ \|)+$", re.MULTILINE)
_STYLES = {"primary": "primary", "danger": "danger"}


class FeishuMarkdown(MarkdownRenderer):
    """The Markdown of posts and cards (open.feishu.cn, rich text component): special characters
    of words are entities, and addresses are code, because previews of links cannot be switched
    off."""

    def text(self, raw: str) -> str:
        """Words."""
        return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", raw.replace("&", "&#38;"))

    def code(self, raw: str) -> str:
        """Code in a line; in it, too, nobody is called."""
        return super().code(_calm(raw)) if "`" not in raw else self.text(raw)

    def fence(self, raw: str, language: str) -> str:
        """A block of code."""
        return super().fence(_calm(raw), language)

    def link(self, inner: str, url: str) -> str:
        """The words, and the address as code."""
        address = self.code(url)
        return address if inner in (url, self.text(url)) else f"{inner} ({address})"

    def rule(self) -> str:
        """A line across."""
        return "---"

    def table(self, rows: Sequence[Sequence[str]]) -> str:
        """A table, which cards show and posts do not."""
        count = max(len(row) for row in rows)
        cells = [[self.text(cell).replace("|", "&#124;") for cell in row] for row in rows]
        lines = [f"| {' | '.join([*row, *[''] * (count - len(row))])} |" for row in cells]
        return "\n".join([lines[0], f"|{' --- |' * count}", *lines[1:]])


def _calm(raw: str) -> str:
    """Code in which no ``<at …>`` is a tag: entities are not known there."""
    return raw.replace("<at", "<\u200bat")


PAINTER = FeishuMarkdown()


def render(markdown: str) -> str:
    """Markdown in Feishu's dialect."""
    return render_markdown(markdown, PAINTER)


def plain(text: str) -> str:
    """Markdown that shows a text as it is."""
    return PAINTER.text(text)


def has_table(rendered: str) -> bool:
    """True if a post would not show it."""
    return _TABLE.search(rendered) is not None


def post(text: str, *, rich: bool, image: str = "") -> str:
    """The content of a post: words, and perhaps a picture below them."""
    lines = [[{"tag": "md", "text": text} if rich else {"tag": "text", "text": text}]]
    lines += [[{"tag": "img", "image_key": image}]] if image else []
    return dumps({"zh_cn": {"content": lines if text else lines[1:]}})


def card(
    text: str,
    *,
    rich: bool = True,
    choices: Sequence[Choice] = (),
    chat: str = "",
    live: bool = False,
) -> str:
    """A card: words, and a button for each choice, whose value names the chat."""
    element: Json = {"tag": "markdown", "content": text or " ", "element_id": WORDS}
    if not rich:
        element["content"] = plain(text) or " "
    buttons = [
        {
            "tag": "button",
            "text": {"tag": "plain_text", "content": one.label},
            "type": _STYLES.get(one.style, "default"),
            "behaviors": [{"type": "callback", "value": {"chat": chat, "n": str(number)}}],
        }
        for number, one in enumerate(choices)
    ]
    config = {"streaming_mode": live, "update_multi": True, "summary": {"content": text[:60]}}
    return dumps({"schema": "2.0", "config": config, "body": {"elements": [element, *buttons]}})


def measure(markdown: str) -> int:
    """Bytes of the request that sends the text, as a post or as a card, whichever is longer."""
    rendered = render(markdown)
    longest = max(post(rendered, rich=True), card(rendered), post(markdown, rich=False), key=len)
    return len(dumps({"content": longest}).encode("utf-8", "surrogatepass"))


def dumps(value: object) -> str:
    """Compact JSON, as it is sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
