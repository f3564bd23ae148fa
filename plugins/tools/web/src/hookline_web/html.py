"""HTML as Markdown or as plain text. Everything here takes CPU time: run it in a thread.

lxml does the parsing. The parser of the standard library needs minutes for some 100 KB, such as
``<a `` repeated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

MAX_CHARS = 500_000
"""Characters of cleaned HTML that are turned into Markdown; that takes about two seconds."""
MAX_DEPTH = 10
"""Of lists and quotations within each other; each level repeats its mark on every line within."""
MAX_ITEMS = 1_000
"""Of a numbered list; for each item the converter counts those before it."""
ARTICLE_SHARE = 0.25
"""Of a page's text that trafilatura has to find; below that the whole page is taken."""

_DROPPED = (
    "//script|//style|//noscript|//template|//svg|//canvas|//iframe|//object|//embed"
    # Not the head: the parser leaves elements of HTML 5 in it where the body is not marked.
    "|//title|//base|//link|//meta|//select|//input|//button|//dialog[not(@open)]"
    "|//img[not(@alt) or @alt='' or starts-with(@src,'data:')]"
    "|//*[@hidden or @aria-hidden='true'][not(self::html or self::body)]"
)
# What a reader of the page would not see is no place for words to a model either.
_UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d]*[1-9])",
    re.IGNORECASE,
)
_ATTRIBUTES = frozenset({"alt", "colspan", "href", "src"})
_LINKS = ("http://", "https://", "mailto:")
_NESTED = frozenset({"blockquote", "dl", "ol", "ul"})
# What begins a line, and what begins a paragraph.
_LINES = frozenset({"br", "caption", "dd", "div", "dt", "hr", "li", "summary", "tr"})
_PARAGRAPHS = frozenset(
    ("address", "article", "aside", "blockquote", "details", "dl", "fieldset", "figcaption",
     "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main", "nav", "ol",
     "p", "pre", "section", "table", "ul")
)  # fmt: skip
_LINE, _PARAGRAPH, _KEPT = "\n", "\v", "\x1e"


class Page:
    """A parsed page, cleaned: no scripts, nothing hidden, links absolute.

    html: of any quality. url: where it came from.
    """

    def __init__(self, html: str, url: str) -> None:
        self._url = url
        self._tree = _parsed(html)
        self.title = ""
        self.cut = False
        """Whether the page was too long to be converted whole."""
        if self._tree is not None:
            self.title = " ".join(self._tree.findtext(".//title", "").split())[:300]
            _clean(self._tree, url)

    def markdown(self) -> str:
        """The page in Markdown, under its title if it has no heading of its own."""
        return self._titled(self._article("markdown") or self._converted(), "# ")

    def text(self) -> str:
        """The page without markup, a line for each block."""
        return self._titled(self._article("txt") or self._plain(), "")

    def _titled(self, body: str, sign: str) -> str:
        headed = self._tree is not None and self._tree.find(".//h1") is not None
        parts = [] if headed or not self.title else [sign + self.title]
        return "\n\n".join([*parts, body] if body else parts)

    def _article(self, form: str) -> str:
        """The page's main content, where trafilatura is installed and finds enough of it."""
        try:
            from trafilatura import extract
        except ImportError:
            return ""
        if self._tree is None:
            return ""
        found: str | None = extract(
            self._cleaned(),
            url=self._url,
            output_format=form,
            include_links=form == "markdown",
            include_tables=True,
            include_formatting=form == "markdown",
        )
        text = (found or "").strip()
        return text if len(text) > ARTICLE_SHARE * len(self._plain()) else ""

    def _converted(self) -> str:
        from markdownify import markdownify

        if self._tree is None:
            return ""
        try:
            text: str = markdownify(
                self._cleaned(), heading_style="ATX", bullets="-", bs4_options="lxml"
            )
        except RecursionError:  # Nested deeper than it can follow.
            return self._plain()
        return re.sub(r"[ \t]*\n(?:[ \t]*\n)+", "\n\n", text).strip()

    def _cleaned(self) -> str:
        from lxml.html import tostring

        html: str = tostring(self._tree, encoding="unicode")
        self.cut = len(html) > MAX_CHARS
        return html[:MAX_CHARS]

    def _plain(self) -> str:
        from lxml.etree import iterwalk  # type: ignore[import-untyped]

        if self._tree is None:
            return ""
        pieces: list[str] = []
        kept = 0  # how many <pre> are open
        for event, node in iterwalk(self._tree, events=("start", "end")):
            starts = event == "start"
            kept += (node.tag == "pre") * (1 if starts else -1)
            pieces.append(_mark(node.tag, event))
            text = (node.text if starts else node.tail) or ""
            pieces.append(text.replace("\n", _KEPT) if kept else re.sub(r"\s+", " ", text))
        return _joined(pieces)


def _mark(tag: str, event: str) -> str:
    """What stands where an element starts or ends."""
    if tag in _PARAGRAPHS:
        return _PARAGRAPH
    if tag in _LINES:
        return _LINE
    return "\t" if event == "end" and tag in ("td", "th") else ""


def _joined(pieces: list[str]) -> str:
    """The pieces as lines: a blank one between paragraphs, none between other blocks."""
    runs = re.compile(rf"[ \t]*(?:[{_LINE}{_PARAGRAPH}][ \t]*)+")
    text = runs.sub(lambda run: "\n\n" if _PARAGRAPH in run[0] else "\n", "".join(pieces))
    return text.replace(_KEPT, "\n").strip()


def _parsed(html: str) -> HtmlElement | None:
    """The tree, or None for a page without an element."""
    from lxml.etree import ParserError
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except ParserError:
        return None


def _clean(tree: HtmlElement, url: str) -> None:
    """Take out what a reader does not see, and make the links absolute."""
    base = _base(tree, url)
    for node in tree.xpath("//*[@style]"):
        if _UNSEEN.search(node.get("style")):
            node.set("hidden", "")
    for node in tree.xpath(_DROPPED):
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
    """Where a link leads; empty for what is no address of a page or a person."""
    try:
        found = urljoin(base, link.strip())
    except ValueError:
        return ""
    return found if found.lower().startswith(_LINKS) else ""


def _base(tree: HtmlElement, url: str) -> str:
    """What the page's links are relative to."""
    for base in tree.iter("base"):
        try:
            return urljoin(url, str(base.get("href") or "").strip())
        except ValueError:
            continue
    return url


def _flatten(tree: HtmlElement) -> None:
    """Take away what makes the Markdown of a small page huge, or its conversion endless."""
    from lxml.etree import iterwalk

    depth = 0
    deep = []
    for event, node in iterwalk(tree, events=("start", "end"), tag=_NESTED):
        depth += 1 if event == "start" else -1
        if event == "start" and depth > MAX_DEPTH:
            deep.append(node)
    for node in deep:
        node.tag = "div"
    for node in tree.iter("ol"):
        if len(node) > MAX_ITEMS:
            node.tag = "ul"
    for node in tree.xpath("//*[string-length(@colspan) > 1]"):
        del node.attrib["colspan"]
