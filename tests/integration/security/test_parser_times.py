"""What reads texts of strangers takes linear time, up to the longest text that it accepts."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any

import httpx2
import pytest
from hookline_channelkit import split_markdown
from hookline_channelkit.markdown import Renderer, render_markdown
from hookline_files.diff import MAX_DIFF_CHARS, diff
from hookline_hookspecs import Origin
from hookline_hookspecs.bound_files import MAX_KEPT_CHARS, BoundFile, describe_changes
from hookline_hookspecs.strict_json import read_json
from hookline_permissions.commands import MAX_COMMAND_CHARS, parse_command
from hookline_provenance.marks import Marks
from hookline_provenance.values import find_values
from hookline_providerkit.limits import Limits
from hookline_providerkit.response_limits import limit_responses
from hookline_redact.redactor import Redactor
from hookline_skills.frontmatter import MAX_FRONT_MATTER_CHARS, parse_document
from hookline_threat_scan.scanner import TextUse, ThreatScanner
from hookline_web.html import MAX_HTML_CHARS, HtmlPage

pytestmark = pytest.mark.slow
MAX_RATIO = 8.0
"""Of the times for four times the text: 4 is linear, 16 quadratic."""
MIN_SECONDS = 0.05
"""A shorter time is counted as this, because it is not measured precisely."""
MAX_READ_CHARS = 100_000
"""Characters of a text that is read by a model at once."""
_WORKSPACE = Path("/w")
_REDACTOR, _SCANNER = Redactor(), ThreatScanner()


def front_matter(text: str) -> object:
    return parse_document(f"---\nname: a\ndescription: a\nx: {text[:-40]}\n---\nbody")


def html(text: str) -> object:
    return HtmlPage(f"<p>{text}", "http://a.example/").markdown()


def stream(text: str) -> object:
    """Read a stream of events through the limits of a provider's response."""

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            data = text.encode()
            for at in range(0, len(data), 100):
                yield data[at : at + 100]

    async def read() -> bytes:
        headers = {"content-type": "text/event-stream"}
        request = httpx2.Request("POST", "http://a.example/")
        response = httpx2.Response(200, headers=headers, stream=Body(), request=request)
        await limit_responses(Limits())(response)
        return await response.aread()

    return asyncio.run(read())


def question_diff(text: str) -> object:
    before = BoundFile("/w/a", "1", False, text)
    return describe_changes([(before, BoundFile("/w/a", "2", False, text[::-1]))], _WORKSPACE)


def file_diff(text: str) -> object:
    return diff("a", text, text[::-1])


MARKS = (
    "**a ",
    "_a",
    "[",
    "[a](",
    "> ",
    "- ",
    "  - a\n",
    "`` ` ",
    "~~~\n",
    "|a|\n|-|\n",
    "<",
    "\\",
)
WORDS = ("a", "a.", "a@", "1 ", "http://", "@a", "www.a", "(", "\n", " ", "=", "a-", "+1 (", "'{a}")
SECRETS = (
    "password=",
    "token: ",
    "Bearer ",
    "eyJ.",
    "-----BEGIN PRIVATE KEY-----\n",
    "sk-",
    "a:b@",
)
THREATS = ("ignore all ", "ignore previous ", "<!-- a", "\u200b", "&#97;", "QUFB", "\\x41", "%41")
SHELL = ('"a"+', "a|", "$(", "$((", '"$(', "<<A\n", "{a,", "if a; then ", "a() { ", "'a' ", "a\\\n")
TAGS = (
    "<b>",
    "<ul><li>",
    "<table><td>",
    "<blockquote>",
    "<a href=a>",
    "<ol><li>a",
    "<p hidden>",
    "<!--",
)
PARSERS: dict[str, tuple[Callable[[str], object], int, tuple[str, ...]]] = {
    "front matter": (
        front_matter,
        MAX_FRONT_MATTER_CHARS,
        ("\t", "{", "[a, ", "- ", "a: ", "'", " "),
    ),
    "Markdown, split": (lambda text: split_markdown(text, 4096), 40_000, MARKS),
    "Markdown, shown": (lambda text: render_markdown(text, Renderer()), 16_000, MARKS),
    "values": (find_values, MAX_READ_CHARS, WORDS),
    "threats, guidance": (
        lambda text: _SCANNER.scan(text, TextUse.GUIDANCE),
        MAX_READ_CHARS,
        WORDS + THREATS,
    ),
    "threats, data": (lambda text: _SCANNER.scan(text, TextUse.DATA), MAX_READ_CHARS, THREATS),
    "secrets": (_REDACTOR.redact, MAX_READ_CHARS, WORDS + SECRETS),
    "commands": (parse_command, MAX_COMMAND_CHARS, SHELL),
    "HTML": (html, MAX_HTML_CHARS, TAGS),
    "events": (stream, 400_000, ("\n", "data: a\n", "data: {}\n\n", "\r", ":\n", "é")),
    "diff of a question": (question_diff, MAX_KEPT_CHARS, ("\n", "a\n", "a\nb\n", "{\n}\n\n")),
    "diff of a file": (file_diff, MAX_DIFF_CHARS // 2, ("\n", "a\n", "a\nb\n", "{\n}\n\n")),
    "JSON": (read_json, 2_000_000, ("[", '{"a":', '{"a":1,"a":', '"\\u0000', "1", "[1,")),
}
"""How each is called, the longest text that it reads, and pieces that are repeated in it."""


def seconds(parse: Callable[[str], object], text: str) -> float:
    """Without garbage collections, which take longer the more tests ran before in the process."""
    gc.disable()
    start = process_time()
    with suppress(Exception):
        parse(text)
    taken = process_time() - start
    gc.enable()
    return taken


@pytest.mark.parametrize(
    ("name", "piece"),
    [(name, piece) for name, (_, _, pieces) in PARSERS.items() for piece in pieces],
)
def test_parser_takes_linear_time_up_to_its_limit(name: str, piece: str) -> None:
    parse, limit, _ = PARSERS[name]
    text = (piece * (limit // len(piece) + 1))[:limit]
    small = min(seconds(parse, text[: limit // 4]) for _ in range(2))
    limit_seconds = MAX_RATIO * max(small, MIN_SECONDS)
    assert any(seconds(parse, text) < limit_seconds for _ in range(3))  # the machine may be busy


def test_names_are_found_in_a_result_in_a_time_that_hardly_grows_with_their_number() -> None:
    name = "what the page said about the account"
    origins = (Origin("outside", "https://page.example/"),)
    few, many = (
        Marks("/media", paths={f"/w/{name} {number}": origins for number in range(count)})
        for count in (500, 20_000)
    )
    text = f"{name} and more of it\n" * 15_000
    assert many.names_in(f"{text} {name} 19999") == origins
    small = min(seconds(few.names_in, text) for _ in range(2))
    assert seconds(many.names_in, text) < MAX_RATIO * max(small, MIN_SECONDS)
