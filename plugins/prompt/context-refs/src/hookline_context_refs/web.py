"""``@url``: a page as text, fetched by the guarded client."""

from __future__ import annotations

import asyncio
import codecs
import re

from hookline_hookspecs import Origin

from .decoding import cut_bytes, decode
from .grammar import Reference
from .reference_content import ReferenceContent, ReferenceSources, UnresolvedReference

MAX_HTML_CHARS = 1_000_000
"""Characters of HTML that are converted to text, in about three seconds."""
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_TEXTUAL = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|javascript|yaml|toml|x-[a-z-]*)|", re.IGNORECASE
)


async def load_url(reference: Reference, sources: ReferenceSources) -> ReferenceContent:
    """Return the text of a page; HTML becomes Markdown. Raises ``UnresolvedReference`` and
    ``HooklineError``."""
    response = await sources.http.get(reference.value)
    if not 200 <= response.status < 300:
        raise UnresolvedReference(f"the server answered {response.status}")
    content_type = response.headers.get("content-type", "")
    mime = content_type.partition(";")[0].strip().lower()
    if not _TEXTUAL.fullmatch(mime):
        raise UnresolvedReference(f"it is {mime}, not text")
    text, _ = decode(response.body, _encoding(content_type))
    if mime in ("text/html", "application/xhtml+xml"):
        text = await asyncio.to_thread(_markdown, text[:MAX_HTML_CHARS])
    shown, note = cut_bytes(text, sources.config.url_max_bytes)
    note = note or ("" if text else "(empty page)")
    origins = (Origin("outside", reference.value),)
    return ReferenceContent(("url", reference.value), reference.value, shown, note, origins=origins)


def _encoding(content_type: str) -> str:
    """Return the codec named by the header, or UTF-8."""
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
