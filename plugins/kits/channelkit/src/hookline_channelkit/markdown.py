"""Markdown for platforms with a dialect of their own: a walk that asks a :class:`Painter`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

DEEPEST = 10_000
"""Nested quotes and lists; the parser leaves out what is deeper, and Python gives up before."""
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
INDENT = "  "
"""Before the lines of a nested list."""


class Painter(ABC):
    """How a dialect writes each part. Inner texts are already painted; ``code``, ``fence`` and
    ``text`` get raw text, which they have to escape. A painter has no state."""

    @abstractmethod
    def text(self, raw: str) -> str:
        """Words, escaped."""

    @abstractmethod
    def code(self, raw: str) -> str:
        """Code in a line."""

    @abstractmethod
    def fence(self, raw: str, language: str) -> str:
        """A block of code, without a newline at its end; ``language`` may be empty."""

    @abstractmethod
    def bold(self, inner: str) -> str:
        """Strong words."""

    @abstractmethod
    def italic(self, inner: str) -> str:
        """Emphasised words."""

    @abstractmethod
    def strike(self, inner: str) -> str:
        """Struck words."""

    @abstractmethod
    def link(self, inner: str, url: str) -> str:
        """A link. ``url`` is percent-encoded, but to be escaped; no script, data or file."""

    @abstractmethod
    def quote(self, inner: str) -> str:
        """A block quotation."""

    def image(self, alt: str, url: str) -> str:
        """A picture, as a link to it: an embedded one would be fetched from wherever it says."""
        return self.link(self.text(alt or url), url)

    def heading(self, inner: str, level: int) -> str:
        """A heading of level 1 to 6, as bold words."""
        return self.bold(inner)

    def bullet(self, number: str) -> str:
        """What stands before a list item: ``number`` such as ``2.``, empty for a bullet."""
        return self.text(f"{number} " if number else "• ")

    def rule(self) -> str:
        """A line across."""
        return self.text("———")

    def table(self, rows: Sequence[Sequence[str]]) -> str:
        """A table of raw cells, head first, as aligned columns in a block of code."""
        count = max(len(row) for row in rows)
        filled = [[*row, *[""] * (count - len(row))] for row in rows]
        widths = [max(len(row[at]) for row in filled) for at in range(count)]
        lines = [
            " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in filled
        ]
        lines.insert(1, "-+-".join("-" * width for width in widths))
        return self.fence("\n".join(lines), "")


class MarkdownPainter(Painter):
    """For dialects that are Markdown themselves; they differ in how words are escaped, and in
    links."""

    def code(self, raw: str) -> str:
        """Code in a line."""
        return f"`` {raw} ``" if "`" in raw else f"`{raw}`"

    def fence(self, raw: str, language: str) -> str:
        """A block of code, with its language if it is one word; longer marks around one that holds
        marks itself."""
        marks, known = "```", language if _LANGUAGE.fullmatch(language) else ""
        while marks in raw:
            marks += "`"
        return f"{marks}{known}\n{raw}\n{marks}"

    def bold(self, inner: str) -> str:
        """Strong words."""
        return f"**{inner}**"

    def italic(self, inner: str) -> str:
        """Emphasised words."""
        return f"*{inner}*"

    def strike(self, inner: str) -> str:
        """Struck words."""
        return f"~~{inner}~~"

    def quote(self, inner: str) -> str:
        """A block quotation."""
        return "\n".join(f"> {line}" for line in inner.split("\n"))

    def bullet(self, number: str) -> str:
        """What stands before a list item."""
        return f"{number or '-'} "


def paint(markdown: str, painter: Painter) -> str:
    """``markdown`` (CommonMark, tables, strikethrough) in the painter's dialect.

    Blocks are set apart by a blank line, HTML is words, line breaks stay. What is nested too deep
    for Python stays as it was written.
    """
    from markdown_it.tree import SyntaxTreeNode

    try:
        tree = SyntaxTreeNode(_parser().parse(markdown))
        return _Walk(painter).blocks(tree.children, "\n\n")
    except RecursionError:
        return painter.text(markdown)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    options = {"html": False, "linkify": False, "maxNesting": DEEPEST}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])


class _Walk:
    """Paints from the leaves up."""

    def __init__(self, painter: Painter) -> None:
        self._painter = painter

    def blocks(self, nodes: Sequence[SyntaxTreeNode], gap: str) -> str:
        painted = [self._block(node) for node in nodes]
        return gap.join(text for text in painted if text)

    def _block(self, node: SyntaxTreeNode) -> str:
        painter = self._painter
        match node.type:
            case "paragraph" | "inline":
                return self._line(node)
            case "heading":
                inner = self._line(node)
                return painter.heading(inner, int(node.tag[1:])) if inner else ""
            case "fence" | "code_block":
                words = node.info.split() if node.type == "fence" else []
                if words and not node.content.strip():
                    return painter.text(node.info.strip())  # its words are all there is
                return painter.fence(node.content.removesuffix("\n"), words[0] if words else "")
            case "blockquote":
                inner = self.blocks(node.children, "\n\n")
                return painter.quote(inner) if inner else ""
            case "bullet_list" | "ordered_list":
                return self._list(node)
            case "hr":
                return painter.rule()
            case "table":
                return painter.table(_rows(node))
        return self.blocks(node.children, "\n") if node.children else painter.text(node.content)

    def _list(self, node: SyntaxTreeNode) -> str:
        is_ordered = node.type == "ordered_list"
        first = int(node.attrs.get("start", 1)) if is_ordered else 0
        lines = []
        for place, item in enumerate(node.children):
            number = f"{first + place}{item.markup or '.'}" if is_ordered else ""
            inner = self.blocks(item.children, "\n")
            head, newline, rest = inner.partition("\n")
            is_block = item.children and item.children[0].type in ("fence", "code_block")
            rest = rest if is_block else self._indented(item, rest)
            lines.append(self._painter.bullet(number) + head + newline + rest)
        return "\n".join(lines)

    @staticmethod
    def _indented(item: SyntaxTreeNode, text: str) -> str:
        """Nested lines a little further right; but code stays as it is."""
        if any(node.type in ("fence", "code_block", "table") for node in item.walk()):
            return text
        return "\n".join(INDENT + line if line else line for line in text.split("\n"))

    def _line(self, node: SyntaxTreeNode) -> str:
        if node.type == "inline":
            return "".join([self._span(child) for child in node.children])
        return "".join([self._line(child) for child in node.children])

    def _span(self, node: SyntaxTreeNode) -> str:
        painter = self._painter
        match node.type:
            case "code_inline":
                return painter.code(node.content)
            case "softbreak" | "hardbreak":
                return "\n"
            case "image":
                return painter.image(node.content, str(node.attrs.get("src", "")))
            case "text" | "text_special" | "html_inline":
                return painter.text(node.content)
        inner = "".join([self._span(child) for child in node.children])
        if not inner.strip():
            return inner
        match node.type:
            case "strong":
                return painter.bold(inner)
            case "em":
                return painter.italic(inner)
            case "s":
                return painter.strike(inner)
            case "link":
                return painter.link(inner, str(node.attrs.get("href", "")))
        return inner


def _rows(table: SyntaxTreeNode) -> list[list[str]]:
    """The raw cells of a table; no row is empty."""
    rows = [node for node in table.walk() if node.type == "tr"]
    return [[_words(cell) for cell in row.children] for row in rows]


def _words(node: SyntaxTreeNode) -> str:
    """The text of a part without its markup."""
    kinds = ("text", "text_special", "code_inline", "image")
    return "".join([one.content for one in node.walk() if one.type in kinds])
