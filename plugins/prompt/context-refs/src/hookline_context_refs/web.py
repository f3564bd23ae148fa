"""``@url``: a page as text, fetched by the guarded client."""

from __future__ import annotations

import asyncio
import codecs
import re

from hookline_hookspecs import Origin

from .decoding import cut_bytes, decode
from .found import Found, Sources, Unresolved
from .grammar import Reference

HTML_CHARS = 1_000_000
"""Characters of HTML that are turned into text; that takes about three seconds."""
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_TEXTUAL = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|javascript|yaml|toml|x-[a-z-]*)|", re.IGNORECASE
)


async def load_url(reference: Reference, sources: Sources) -> Found:
    """The text of a page; HTML becomes Markdown. Raises ``Unresolved`` and ``HooklineError``."""
    response = await sources.http.get(reference.value)
    if not 200 <= response.status < 300:
        raise Unresolved(f"the server answered {response.status}")
    content_type = response.headers.get("content-type", "")
    mime = content_type.partition(";")[0].strip().lower()
    if not _TEXTUAL.fullmatch(mime):
        raise Unresolved(f"it is {mime}, not text")
    text = decode(response.body, _encoding(content_type))
    if mime in ("text/html", "application/xhtml+xml"):
        text = await asyncio.to_thread(_markdown, text[:HTML_CHARS])
    shown, note = cut_bytes(text, sources.config.url_max_bytes)
    note = note or ("" if text else "(empty page)")
    origins = (Origin("outside", reference.value),)
    return Found(("url", reference.value), reference.value, shown, note, origins=origins)


def _encoding(content_type: str) -> str:
    """The codec that the header names, else UTF-8."""
    named = _CHARSET.search(content_type)
    try:
        found = codecs.lookup(named[1]) if named else codecs.lookup("utf-8")
        return found.name if "x".encode(found.name) else "utf-8"
    except (LookupError, UnicodeError, TypeError):
        return "utf-8"


def _markdown(html: str) -> str:
    from markdownify import markdownify

    try:
        # The standard library's parser needs minutes for some pages of 60 KB.
        text: str = markdownify(html, heading_style="ATX", bs4_options="lxml")
    except RecursionError:
        return html  # Nested deeper than the parser can follow: the source is text as well.
    return re.sub(r"\n{3,}", "\n\n", text).strip()
