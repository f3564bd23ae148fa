"""Converts Markdown to the dialect of a platform, written by a :class:`Renderer`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookline_hookspecs.visible_text import other_host, spell_out_prose

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

MAX_NESTING = 10_000
"""Maximum nesting of quotes and lists; the parser skips deeper parts. Python's limit is lower."""
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
_BLOCKQUOTE_TAGS = re.compile(r"</?blockquote>")
INDENT = "  "
"""Precedes the lines of a nested list."""


class Renderer(ABC):
    """Writes each part of a dialect. A renderer has no state.

    ``text``, ``code`` and ``fence`` get raw text, which they must escape; the other methods get
    rendered text.
    """

    @abstractmethod
    def text(self, raw: str) -> str:
        """Text, escaped."""

    @abstractmethod
    def code(self, raw: str) -> str:
        """Inline code."""

    @abstractmethod
    def fence(self, raw: str, language: str) -> str:
        """A code block, without a trailing newline; ``language`` may be empty."""

    @abstractmethod
    def bold(self, inner: str) -> str:
        """Bold text."""

    @abstractmethod
    def italic(self, inner: str) -> str:
        """Italic text."""

    @abstractmethod
    def strike(self, inner: str) -> str:
        """Struck-through text."""

    @abstractmethod
    def link(self, inner: str, url: str) -> str:
        """A link. ``url`` is percent-encoded but not escaped; no script, data or file URL."""

    @abstractmethod
    def quote(self, inner: str) -> str:
        """A block quotation."""

    def image(self, alt: str, url: str) -> str:
        """An image, as a link: an embedded one would be fetched without a request by a person."""
        return self.link(self.text(alt or url), url)

    def heading(self, inner: str, level: int) -> str:
        """A heading of level 1 to 6, by default as bold text."""
        return self.bold(inner)

    def bullet(self, number: str) -> str:
        """The marker of a list item: ``number`` such as ``2.``, empty for a bullet."""
        return self.text(f"{number} " if number else "• ")

    def rule(self) -> str:
        """A horizontal rule."""
        return self.text("———")

    def table(self, rows: Sequence[Sequence[str]]) -> str:
        """A table of raw cells, header first, by default as aligned columns in a code block."""
        count = max(len(row) for row in rows)
        filled = [[*row, *[""] * (count - len(row))] for row in rows]
        widths = [max(len(row[at]) for row in filled) for at in range(count)]
        lines = [
            " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in filled
        ]
        lines.insert(1, "-+-".join("-" * width for width in widths))
        return self.fence("\n".join(lines), "")


class MarkdownRenderer(Renderer):
    """Base for dialects that are Markdown themselves; they differ in escaping and in links."""

    def code(self, raw: str) -> str:
        """Inline code."""
        return f"`` {raw} ``" if "`" in raw else f"`{raw}`"

    def fence(self, raw: str, language: str) -> str:
        """A code block, with its language if that is one word, and with longer marks around code
        that contains marks."""
        marks, known = "```", language if _LANGUAGE.fullmatch(language) else ""
        while marks in raw:
            marks += "`"
        return f"{marks}{known}\n{raw}\n{marks}"

    def bold(self, inner: str) -> str:
        """Bold text."""
        return f"**{inner}**"

    def italic(self, inner: str) -> str:
        """Italic text."""
        return f"*{inner}*"

    def strike(self, inner: str) -> str:
        """Struck-through text."""
        return f"~~{inner}~~"

    def quote(self, inner: str) -> str:
        """A block quotation."""
        return "\n".join(f"> {line}" for line in inner.split("\n"))

    def bullet(self, number: str) -> str:
        """The marker of a list item."""
        return f"{number or '-'} "


class HtmlRenderer(Renderer):
    """Base for platforms that accept a few HTML tags, such as Telegram, Matrix and mail.

    It writes ``b i s a code pre blockquote``, balanced, and escapes everything else. Links are kept
    if their scheme is among ``schemes``.
    """

    schemes = frozenset({"http", "https", "mailto"})

    def text(self, raw: str) -> str:
        """Text, escaped."""
        return escape(raw, quote=False)

    def code(self, raw: str) -> str:
        """Inline code."""
        return f"<code>{escape(raw, quote=False)}</code>"

    def fence(self, raw: str, language: str) -> str:
        """A code block, with its language if that is one word."""
        body = escape(raw, quote=False)
        if _LANGUAGE.fullmatch(language) is None:
            return f"<pre>{body}</pre>"
        return f'<pre><code class="language-{language}">{body}</code></pre>'

    def bold(self, inner: str) -> str:
        """Bold text."""
        return f"<b>{inner}</b>"

    def italic(self, inner: str) -> str:
        """Italic text."""
        return f"<i>{inner}</i>"

    def strike(self, inner: str) -> str:
        """Struck-through text."""
        return f"<s>{inner}</s>"

    def link(self, inner: str, url: str) -> str:
        """A link; only its text if its scheme is not among :attr:`schemes`."""
        try:
            is_kept = urlsplit(url).scheme in self.schemes
        except ValueError:
            is_kept = False
        return f'<a href="{escape(url)}">{inner}</a>' if is_kept else inner

    def quote(self, inner: str) -> str:
        """A block quotation; nested ones are merged, because the platforms do not nest them."""
        return f"<blockquote>{_BLOCKQUOTE_TAGS.sub('', inner)}</blockquote>"


def render_markdown(markdown: str, renderer: Renderer) -> str:
    """Convert ``markdown`` (CommonMark, tables, strikethrough) to the renderer's dialect.

    Blocks are separated by a blank line, HTML counts as text, and line breaks stay. Characters that
    reorder text are escaped, and a link whose text names another host says its own. Text nested too
    deeply for Python's recursion limit is returned unrendered.
    """
    from markdown_it.tree import SyntaxTreeNode

    try:
        tree = SyntaxTreeNode(_parser().parse(markdown))
        return _TreeWalk(renderer).blocks(tree.children, "\n\n")
    except RecursionError:
        return renderer.text(spell_out_prose(markdown))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    options = {"html": False, "linkify": False, "maxNesting": MAX_NESTING}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])


class _TreeWalk:
    """Renders the tree from its leaves up."""

    def __init__(self, renderer: Renderer) -> None:
        self._painter = renderer

    def blocks(self, nodes: Sequence[SyntaxTreeNode], gap: str) -> str:
        rendered = [self._block(node) for node in nodes]
        return gap.join(text for text in rendered if text)

    def _block(self, node: SyntaxTreeNode) -> str:
        renderer = self._painter
        match node.type:
            case "paragraph" | "inline":
                return self._line(node)
            case "heading":
                inner = self._line(node)
                return renderer.heading(inner, int(node.tag[1:])) if inner else ""
            case "fence" | "code_block":
                words = node.info.split() if node.type == "fence" else []
                if words and not node.content.strip():
                    return renderer.text(
                        node.info.strip()
                    )  # an empty block has only its info string
                code = spell_out_prose(node.content.removesuffix("\n"))
                return renderer.fence(code, words[0] if words else "")
            case "blockquote":
                inner = self.blocks(node.children, "\n\n")
                return renderer.quote(inner) if inner else ""
            case "bullet_list" | "ordered_list":
                return self._list(node)
            case "hr":
                return renderer.rule()
            case "table":
                return renderer.table(_rows(node))
        return self.blocks(node.children, "\n") if node.children else renderer.text(node.content)

    def _list(self, node: SyntaxTreeNode) -> str:
        is_ordered = node.type == "ordered_list"
        first = int(node.attrs.get("start", 1)) if is_ordered else 0
        lines = []
        for place, item in enumerate(node.children):
            number = f"{first + place}{item.markup or '.'}" if is_ordered else ""
            inner = self.blocks(item.children, "\n")
            head, newline, rest = inner.partition("\n")
            is_block = item.children and item.children[0].type in ("fence", "code_block")
            rest = rest if is_block else self._indent(item, rest)
            lines.append(self._painter.bullet(number) + head + newline + rest)
        return "\n".join(lines)

    @staticmethod
    def _indent(item: SyntaxTreeNode, text: str) -> str:
        """Indent nested lines, but not code."""
        if any(node.type in ("fence", "code_block", "table") for node in item.walk()):
            return text
        return "\n".join(INDENT + line if line else line for line in text.split("\n"))

    def _line(self, node: SyntaxTreeNode) -> str:
        if node.type == "inline":
            return "".join([self._span(child) for child in node.children])
        return "".join([self._line(child) for child in node.children])

    def _span(self, node: SyntaxTreeNode) -> str:
        renderer = self._painter
        match node.type:
            case "code_inline":
                return renderer.code(spell_out_prose(node.content))
            case "softbreak" | "hardbreak":
                return "\n"
            case "image":
                return renderer.image(node.content, str(node.attrs.get("src", "")))
            case "text" | "text_special" | "html_inline":
                return renderer.text(spell_out_prose(node.content))
        inner = "".join([self._span(child) for child in node.children])
        if not inner.strip():
            return inner
        match node.type:
            case "strong":
                return renderer.bold(inner)
            case "em":
                return renderer.italic(inner)
            case "s":
                return renderer.strike(inner)
            case "link":
                url = str(node.attrs.get("href", ""))
                host = other_host(_text_of(node), url)
                return renderer.link(inner, url) + (renderer.text(f" (→ {host})") if host else "")
        return inner


def _rows(table: SyntaxTreeNode) -> list[list[str]]:
    """Return the raw cells of a table."""
    rows = [node for node in table.walk() if node.type == "tr"]
    return [[_text_of(cell) for cell in row.children] for row in rows]


def _text_of(node: SyntaxTreeNode) -> str:
    """Return the text of a node without its markup."""
    kinds = ("text", "text_special", "code_inline", "image")
    return "".join([one.content for one in node.walk() if one.type in kinds])
