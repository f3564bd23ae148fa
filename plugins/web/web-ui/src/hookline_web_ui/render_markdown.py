"""Renders Markdown as safe HTML, with an allow-list of tokens. Raw HTML stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from hookline_hookspecs.visible_text import other_host, spell_out_prose
from hookline_hookspecs.web import t
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup, escape

from . import render_footnotes

PLAIN = {
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "em", "strong"),
    *("s", "table", "thead", "tbody", "tr", "th", "td"),
}
"""Elements that are allowed, without attributes."""
_TASK = re.compile(r"\[([ xX])\]\s+(?=\S)")
_FOLD = re.compile(r"<details( open)?>\s*<summary>(.+?)</summary>")
_LOT = r"[^\0]{1,2000}?"
"""A formula; the limit keeps the time linear where its end is missing."""
_FORMULA = re.compile(
    rf"\$\${_LOT}\$\$|\\\({_LOT}\\\)|\\\[{_LOT}\\\]|"
    r"\$(?![\s\d])[^$\n]*?[^\s$\\]\$(?!\w)"
)
BOX = Markup('<input type="checkbox" disabled aria-label="{}"{}> ')
BOX_DONE = Markup(" checked")
FOLD = Markup('<details class="fold"{}><summary dir="auto">{}</summary><div class="lot">')
FOLD_OPEN = Markup(" open")
FOLD_END = Markup("</div></details>")
SCHEMES = ("http://", "https://", "mailto:")


def markdown(text: str) -> Markup:
    """Return the HTML of a Markdown text; images are shown as links."""
    body, notes = render_footnotes.split(spell_out_prose(text))
    known = {render_footnotes.NOTES: notes}
    made = Markup("").join(_pieces(_parser().parse(body, known)))
    return made + _footnotes(notes) if notes.texts else made


def _footnotes(notes: render_footnotes.Footnotes) -> Markup:
    items = (
        Markup('<li value="{}">{}</li>').format(
            number, Markup("").join(_pieces(_parser().parse(text), outermost=False))
        )
        for number, text in notes.all()
    )
    section = Markup('<section class="footnotes" aria-label="{}"><ol dir="auto">{}</ol></section>')
    return section.format(t("Footnotes"), Markup("").join(items))


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.before("inline", "fold", _folds)
    made.core.ruler.before("inline", "task", _tasks)
    made.inline.ruler.before("escape", "formula", _formula)
    return render_footnotes.enable(made)


def _folds(state: StateCore) -> None:
    """Note the paragraphs that begin and end a part that can be folded."""
    begun: list[int] = []
    for at, token in enumerate(state.tokens):
        if token.type != "inline" or token.level != 1:
            continue
        if _FOLD.fullmatch(token.content):
            begun.append(at)
        elif token.content == "</details>" and begun:
            for end in (begin := begun.pop(), at):
                for one in state.tokens[end - 1 : end + 2]:
                    one.hidden = True
            found = _FOLD.fullmatch(state.tokens[begin].content)
            assert found is not None
            state.tokens[begin].type, state.tokens[at].type = "fold_open", "fold_close"
            state.tokens[begin].info, state.tokens[begin].content = found[1] or "", found[2]


def _tasks(state: StateCore) -> None:
    """Note the box at the beginning of a list's item."""
    for item, _, text in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type == "list_item_open" and (found := _TASK.match(text.content)):
            item.meta = {"done": found[1] != " "}
            text.content = text.content[found.end() :]


def _formula(state: StateInline, silent: bool) -> bool:
    """Keep the source of a formula as it is; only the chat draws formulas."""
    found = _FORMULA.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("code_inline", "code", 0).content = found.group()
    state.pos = found.end()
    return True


def _pieces(tokens: Sequence[Token], *, outermost: bool = True) -> Iterable[Markup]:
    links: list[str] = []
    starts: list[int] = []
    for at, token in enumerate(tokens):
        if token.type == "inline":
            yield from _pieces(token.children or ())
        elif token.type == "fold_open":
            yield FOLD.format(FOLD_OPEN if token.info else "", token.content)
        elif token.type == "fold_close":
            yield FOLD_END
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
            yield Markup(
                '<div class="code" dir="ltr"><pre tabindex="0"><code>{}</code></pre></div>'
            ).format(token.content)
        elif token.type == "code_inline":
            yield Markup("<code>{}</code>").format(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            yield Markup("<br>") if token.type == "hardbreak" else Markup("\n")
        elif token.type == "footnote_ref":
            yield Markup("<sup>{}</sup>").format(token.meta["number"])
        elif token.type == "hr":
            yield Markup("<hr>")
        elif token.tag in PLAIN and token.nesting and not token.hidden:
            yield _tag(token, outermost=outermost and token.level == 0)
            if "done" in token.meta:
                yield BOX.format(t("Done"), BOX_DONE if token.meta["done"] else "")
        elif not token.nesting:
            yield escape(spell_out_prose(token.content))  # entities are decoded by now


def _tag(token: Token, *, outermost: bool) -> Markup:
    """Return a tag. Blocks have the direction of their text; within others, theirs counts."""
    name = token.tag
    if name in ("h1", "h2", "h3", "h4", "h5"):
        name = f"h{min(int(name[1]) + 2, 6)}"  # below the page's own headings
    if token.nesting < 0:
        return Markup("</table></div>" if name == "table" else f"</{name}>")  # noqa: S704
    if name == "table":
        return Markup('<div class="scroll" dir="auto" tabindex="0"><table class="data">')
    if name == "ol" and isinstance(start := token.attrs.get("start"), int):
        return Markup('<ol dir="auto" start="{}">').format(start)
    if name in ("ul", "ol", "blockquote") or (outermost and name[0] in "ph"):
        return Markup(f'<{name} dir="auto">')  # noqa: S704 - one of PLAIN
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
