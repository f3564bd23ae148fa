"""Renders Markdown as safe HTML, with an allow-list of tokens. Raw HTML stays text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from hookline_hookspecs.visible_text import other_host, spell_out_prose
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

PLAIN = {
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "em", "strong"),
    *("s", "table", "thead", "tbody", "tr", "th", "td"),
}
"""Elements that are allowed, without attributes."""
SCHEMES = ("http://", "https://", "mailto:")


def markdown(text: str) -> Markup:
    """Return the HTML of a Markdown text; images are shown as links."""
    return Markup("").join(_pieces(_parser().parse(spell_out_prose(text))))


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _pieces(tokens: Sequence[Token]) -> Iterable[Markup]:
    links: list[str] = []
    starts: list[int] = []
    for at, token in enumerate(tokens):
        if token.type == "inline":
            yield from _pieces(token.children or ())
        elif token.type == "link_open":
            address = str(token.attrs.get("href", ""))
            links.append(address if _allowed(address) else "")
            if links[-1]:
                yield _anchor(address)
                starts.append(at)
        elif token.type == "link_close":
            if address := links.pop():
                label = "".join(one.content for one in tokens[starts.pop() : at])
                yield _other_host(label, address) + Markup("</a>")
        elif token.type == "image":
            address = str(token.attrs.get("src", ""))
            label = spell_out_prose(token.content or address)
            if _allowed(address):
                yield _anchor(address) + Markup("{}{}</a>").format(
                    label, _other_host(label, address)
                )
            else:
                yield escape(label)
        elif token.type in ("fence", "code_block"):
            yield Markup('<div class="code"><pre tabindex="0"><code>{}</code></pre></div>').format(
                token.content
            )
        elif token.type == "code_inline":
            yield Markup("<code>{}</code>").format(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            yield Markup("<br>") if token.type == "hardbreak" else Markup("\n")
        elif token.type == "hr":
            yield Markup("<hr>")
        elif token.tag in PLAIN and token.nesting and not token.hidden:
            yield _tag(token)
        elif not token.nesting:
            yield escape(spell_out_prose(token.content))  # entities are decoded by now


def _tag(token: Token) -> Markup:
    name = token.tag
    if name in ("h1", "h2", "h3", "h4", "h5"):
        name = f"h{min(int(name[1]) + 2, 6)}"  # below the page's own headings
    if token.nesting < 0:
        return Markup("</table></div>" if name == "table" else f"</{name}>")  # noqa: S704
    if name == "table":
        return Markup('<div class="scroll" tabindex="0"><table class="data">')
    if name == "ol" and isinstance(start := token.attrs.get("start"), int):
        return Markup('<ol start="{}">').format(start)
    align = str(token.attrs.get("style", "")).removeprefix("text-align:")
    if name in ("th", "td") and align in ("right", "center"):
        return Markup('<{} data-align="{}">').format(Markup(name), align)  # noqa: S704
    return Markup(f"<{name}>")  # noqa: S704 - one of PLAIN


def _allowed(address: str) -> bool:
    return address.lower().startswith(SCHEMES)


def _anchor(address: str) -> Markup:
    return Markup('<a href="{0}" title="{0}" rel="noopener noreferrer" target="_blank">').format(
        address
    )


def _other_host(label: str, address: str) -> Markup:
    """The host to which a link leads, if its text names another one."""
    host = other_host(label, address)
    return Markup(' <span class="control">→ {}</span>').format(host) if host else Markup("")
