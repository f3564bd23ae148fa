"""Converts HTML into Markdown or plain text. All of it is CPU-bound: run it in a thread.

lxml parses, because the parser of the standard library takes minutes for some pages of 100 KB,
such as ``<a `` repeated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

MAX_HTML_CHARS = 500_000
"""Characters of cleaned HTML that are converted into Markdown, in about two seconds."""
MAX_LIST_DEPTH = 10
"""Levels of nested lists and quotations; each level adds its mark to every line within."""
MAX_NUMBERED_ITEMS = 1_000
"""Items of a numbered list; for each item the converter counts those before it."""
MIN_ARTICLE_SHARE = 0.25
"""Share of a page's text that trafilatura has to find; else the whole page is used."""

_DROPPED_XPATH = (
    "//script|//style|//noscript|//template|//svg|//canvas|//iframe|//object|//embed"
    # Not the head: without a body tag, the parser leaves HTML 5 elements in it.
    "|//title|//base|//link|//meta|//select|//input|//button|//dialog[not(@open)]"
    "|//img[not(@alt) or @alt='' or starts-with(@src,'data:')]"
    "|//*[@hidden or @aria-hidden='true'][not(self::html or self::body)]"
)
# Text that a reader of the page does not see must not reach the model.
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d]*[1-9])",
    re.IGNORECASE,
)
_ATTRIBUTES = frozenset({"alt", "colspan", "href", "src"})
_LINKS = ("http://", "https://", "mailto:")
_NESTING_TAGS = frozenset({"blockquote", "dl", "ol", "ul"})
# Tags that begin a line, and tags that begin a paragraph.
_LINE_TAGS = frozenset({"br", "caption", "dd", "div", "dt", "hr", "li", "summary", "tr"})
_PARAGRAPH_TAGS = frozenset(
    ("address", "article", "aside", "blockquote", "details", "dl", "fieldset", "figcaption",
     "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main", "nav", "ol",
     "p", "pre", "section", "table", "ul")
)  # fmt: skip
_LINE, _PARAGRAPH, _PRE_NEWLINE = "\n", "\v", "\x1e"


class HtmlPage:
    """A parsed page without scripts and hidden parts, with absolute links.

    Args:
        html: may be malformed.
        url: of the page; relative links are resolved against it.
    """

    def __init__(self, html: str, url: str) -> None:
        self._url = url
        self._tree = _parse(html)
        self.title = ""
        self.cut = False
        """Whether the page was too long to be converted whole."""
        if self._tree is not None:
            self.title = " ".join(self._tree.findtext(".//title", "").split())[:300]
            _clean(self._tree, url)

    def markdown(self) -> str:
        """The page in Markdown, under its title if it has no heading of its own."""
        return self._with_title(self._article("markdown") or self._convert(), "# ")

    def text(self) -> str:
        """The page without markup, one line for each block."""
        return self._with_title(self._article("txt") or self._plain(), "")

    def _with_title(self, body: str, sign: str) -> str:
        headed = self._tree is not None and self._tree.find(".//h1") is not None
        parts = [] if headed or not self.title else [sign + self.title]
        return "\n\n".join([*parts, body] if body else parts)

    def _article(self, form: str) -> str:
        """The main content, if trafilatura is installed and finds enough; else empty."""
        try:
            from trafilatura import extract
        except ImportError:
            return ""
        if self._tree is None:
            return ""
        found: str | None = extract(
            self._cleaned_html(),
            url=self._url,
            output_format=form,
            include_links=form == "markdown",
            include_tables=True,
            include_formatting=form == "markdown",
        )
        text = (found or "").strip()
        return text if len(text) > MIN_ARTICLE_SHARE * len(self._plain()) else ""

    def _convert(self) -> str:
        from markdownify import markdownify

        if self._tree is None:
            return ""
        try:
            text: str = markdownify(
                self._cleaned_html(), heading_style="ATX", bullets="-", bs4_options="lxml"
            )
        except RecursionError:  # Nested too deeply.
            return self._plain()
        return re.sub(r"[ \t]*\n(?:[ \t]*\n)+", "\n\n", text).strip()

    def _cleaned_html(self) -> str:
        from lxml.html import tostring

        html: str = tostring(self._tree, encoding="unicode")
        self.cut = len(html) > MAX_HTML_CHARS
        return html[:MAX_HTML_CHARS]

    def _plain(self) -> str:
        from lxml.etree import iterwalk  # type: ignore[import-untyped]

        if self._tree is None:
            return ""
        pieces: list[str] = []
        open_pre = 0  # how many <pre> are open
        for event, node in iterwalk(self._tree, events=("start", "end")):
            starts = event == "start"
            open_pre += (node.tag == "pre") * (1 if starts else -1)
            pieces.append(_separator(node.tag, event))
            text = (node.text if starts else node.tail) or ""
            pieces.append(
                text.replace("\n", _PRE_NEWLINE) if open_pre else re.sub(r"\s+", " ", text)
            )
        return _join_pieces(pieces)


def _separator(tag: str, event: str) -> str:
    """The separator at the start or end of an element."""
    if tag in _PARAGRAPH_TAGS:
        return _PARAGRAPH
    if tag in _LINE_TAGS:
        return _LINE
    return "\t" if event == "end" and tag in ("td", "th") else ""


def _join_pieces(pieces: list[str]) -> str:
    """Join the pieces, with a blank line between paragraphs and a line break between blocks."""
    runs = re.compile(rf"[ \t]*(?:[{_LINE}{_PARAGRAPH}][ \t]*)+")
    text = runs.sub(lambda run: "\n\n" if _PARAGRAPH in run[0] else "\n", "".join(pieces))
    return text.replace(_PRE_NEWLINE, "\n").strip()


def _parse(html: str) -> HtmlElement | None:
    """Parse a page. None if it has no element."""
    from lxml.etree import ParserError
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except ParserError:
        return None


def _clean(tree: HtmlElement, url: str) -> None:
    """Remove what a reader does not see, and make links absolute."""
    base = _base(tree, url)
    for node in tree.xpath("//*[@style]"):
        if _HIDDEN_STYLE.search(node.get("style")):
            node.set("hidden", "")
    for node in tree.xpath(_DROPPED_XPATH):
        if node.getparent() is not None:
            node.drop_tree()
    for node in tree.iter():
        for name in set(node.keys()) - _ATTRIBUTES:
            del node.attrib[name]
    _flatten(tree)
    for node in tree.iter("a", "area", "img"):
        for name in set(node.keys()) & {"href", "src"}:
            node.set(name, _absolute(base, node.get(name)))
            if not node.get(name):
                del node.attrib[name]


def _absolute(base: str, link: str) -> str:
    """The absolute link; empty if it is neither http nor mailto."""
    try:
        found = urljoin(base, link.strip())
    except ValueError:
        return ""
    return found if found.lower().startswith(_LINKS) else ""


def _base(tree: HtmlElement, url: str) -> str:
    """The URL that the page's links are relative to."""
    for base in tree.iter("base"):
        try:
            return urljoin(url, str(base.get("href") or "").strip())
        except ValueError:
            continue
    return url


def _flatten(tree: HtmlElement) -> None:
    """Remove structures that would make the Markdown huge or its conversion endless."""
    from lxml.etree import iterwalk

    depth = 0
    deep = []
    for event, node in iterwalk(tree, events=("start", "end"), tag=_NESTING_TAGS):
        depth += 1 if event == "start" else -1
        if event == "start" and depth > MAX_LIST_DEPTH:
            deep.append(node)
    for node in deep:
        node.tag = "div"
    for node in tree.iter("ol"):
        if len(node) > MAX_NUMBERED_ITEMS:
            node.tag = "ul"
    for node in tree.xpath("//*[string-length(@colspan) > 1]"):
        del node.attrib["colspan"]
