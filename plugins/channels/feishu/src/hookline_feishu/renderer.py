"""Content of Feishu messages: posts with Markdown, plain posts and cards; and their size."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from hookline_channelkit import MarkdownRenderer, render_markdown
from hookline_hookspecs import Choice
from hookline_hookspecs.visible_text import spell_out

from .api import Json

ANSWER_ELEMENT = "words"
"""Id of the card element with the answer."""
_SPECIAL = re.compile(r"[<>*~`\[\]]|(?<!\w)_|_(?!\w)|^[-+#](?= )", re.MULTILINE)
_TABLE = re.compile(r"^\|(?: -+ \|)+$", re.MULTILINE)
_STYLES = {"primary": "primary", "danger": "danger"}


class FeishuMarkdown(MarkdownRenderer):
    """The Markdown of posts and cards (open.feishu.cn, rich text component).

    Special characters become entities, and addresses code, because link previews cannot be turned
    off.
    """

    def text(self, raw: str) -> str:
        """Escape a text."""
        return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", raw.replace("&", "&#38;"))

    def code(self, raw: str) -> str:
        """Render inline code, without mentions."""
        return super().code(_without_mentions(raw)) if "`" not in raw else self.text(raw)

    def fence(self, raw: str, language: str) -> str:
        """Render a block of code."""
        return super().fence(_without_mentions(raw), language)

    def link(self, inner: str, url: str) -> str:
        """Render a link as its text, and its address as code."""
        address = self.code(url)
        return address if inner in (url, self.text(url)) else f"{inner} ({address})"

    def rule(self) -> str:
        """Render a horizontal rule."""
        return "---"

    def table(self, rows: Sequence[Sequence[str]]) -> str:
        """Render a table; cards show it, posts do not."""
        count = max(len(row) for row in rows)
        cells = [[self.text(cell).replace("|", "&#124;") for cell in row] for row in rows]
        lines = [f"| {' | '.join([*row, *[''] * (count - len(row))])} |" for row in cells]
        return "\n".join([lines[0], f"|{' --- |' * count}", *lines[1:]])


def _without_mentions(raw: str) -> str:
    """Return code without ``<at …>`` tags; entities do not work there."""
    return raw.replace("<at", "<\u200bat")


RENDERER = FeishuMarkdown()


def render(markdown: str) -> str:
    """Render Markdown in Feishu's dialect."""
    return render_markdown(markdown, RENDERER)


def escape_text(text: str) -> str:
    """Return Markdown that shows a text as it is."""
    return RENDERER.text(text)


def has_table(rendered: str) -> bool:
    """Whether the text has a table, which a post would not show."""
    return _TABLE.search(rendered) is not None


def post_content(text: str, *, rich: bool, image: str = "") -> str:
    """Return the content of a post: a text, and optionally an image below it."""
    lines = [[{"tag": "md", "text": text} if rich else {"tag": "text", "text": text}]]
    lines += [[{"tag": "img", "image_key": image}]] if image else []
    return to_json({"zh_cn": {"content": lines if text else lines[1:]}})


def card_content(
    text: str,
    *,
    rich: bool = True,
    choices: Sequence[Choice] = (),
    chat: str = "",
    live: bool = False,
) -> str:
    """Return the content of a card: a text, and a button for each choice with the chat's id."""
    element: Json = {"tag": "markdown", "content": text or " ", "element_id": ANSWER_ELEMENT}
    if not rich:
        element["content"] = escape_text(text) or " "
    buttons = [
        {
            "tag": "button",
            "text": {"tag": "plain_text", "content": spell_out(one.label)},
            "type": _STYLES.get(one.style, "default"),
            "behaviors": [{"type": "callback", "value": {"chat": chat, "n": str(number)}}],
        }
        for number, one in enumerate(choices)
    ]
    config = {"streaming_mode": live, "update_multi": True, "summary": {"content": text[:60]}}
    return to_json({"schema": "2.0", "config": config, "body": {"elements": [element, *buttons]}})


def request_bytes(markdown: str) -> int:
    """Return the bytes of the request that sends the text, for the longest form of message."""
    rendered = render(markdown)
    forms = (
        post_content(rendered, rich=True),
        card_content(rendered),
        post_content(markdown, rich=False),
    )
    longest = max(forms, key=len)
    return len(to_json({"content": longest}).encode("utf-8", "surrogatepass"))


def to_json(value: object) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
