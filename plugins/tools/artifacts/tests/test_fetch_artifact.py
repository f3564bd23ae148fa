"""``fetch_artifact``: slices, searches, and errors for wrong arguments."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Clock, calls
from hookline_artifacts import Artifacts
from hookline_artifacts.search import search
from hookline_hookspecs import Job, Origin, ToolError
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

from .conftest import MARKER, ArtifactTools

TEXT = "".join(f"line {number:04} 😀\n" for number in range(5_000))  # 60,000 code points
GO_ON = re.compile(r"go on with offset=(\d+)")


def slice_of(shown: str) -> str:
    """The text of a result without its note."""
    return shown.rsplit("\n\nNote: ", 1)[0]


def test_slices_add_up_to_the_original(bench: ArtifactTools) -> None:
    id_ = bench.keep(TEXT)
    text, offset = "", 0
    while True:
        shown = bench.fetch(id_, offset=offset).text
        text += slice_of(shown)
        more = GO_ON.search(shown)
        if more is None:
            break
        offset = int(more[1])
    assert text == TEXT


def test_slice_spans_two_rows(bench: ArtifactTools) -> None:
    text = "".join(chr(0x4E00 + number % 20_000) for number in range(250_000))
    id_ = bench.keep(text)
    for offset in (99_990, 100_000, 199_999):
        shown = bench.fetch(id_, offset=offset, length=30).text
        assert slice_of(shown) == text[offset : offset + 30]


def test_too_large_length_is_clamped(bench: ArtifactTools) -> None:
    shown = bench.fetch(bench.keep(TEXT), length=10**30).text
    assert slice_of(shown) == TEXT[:16_000]


def test_null_argument_equals_omitted_argument(bench: ArtifactTools) -> None:
    shown = bench.fetch(bench.keep(TEXT), offset=None, length=None, pattern=None).text
    assert slice_of(shown) == TEXT[:16_000]


@sampled(
    ("arguments", "complaint"),
    [
        ({"offset": -1}, "Error: offset counts from 0"),
        ({"length": 0}, "Error: offset counts from 0"),
        ({"length": -(10**30)}, "Error: offset counts from 0"),
        ({"offset": 60_000}, "Error: offset 60000 is past the end: the artifact has 60000"),
        ({"offset": 10**30}, "Error: offset 1000000000000000000000000000000 is past the end"),
        ({"offset": "here"}, "Error: argument 'offset"),
        ({"offset": 1.5}, "Error: argument 'offset"),
        ({"lenght": 10}, "Error: fetch_artifact has no argument 'lenght'; did you mean 'length'?"),
        ({"pattern": ["x"]}, "Error: argument 'pattern"),
        ({"pattern": "("}, "Error: the pattern '(' is not a valid regular expression: missing )"),
        ({"pattern": "a{99999}{99}"}, "Error: the pattern is too large"),
        ({"pattern": "(?R)?"}, "Error: the pattern '(?R)?' is recursive"),
        ({"pattern": "x" * 1_001}, "Error: the pattern is too large"),
    ],
)
def test_wrong_arguments_give_an_error_sentence(
    bench: ArtifactTools, arguments: Any, complaint: str
) -> None:
    result = bench.fetch(bench.keep(TEXT), **arguments)
    assert not result.ok
    assert result.text.startswith(complaint)


@pytest.mark.parametrize("id_", ["", "0123456789abcdef", "../../etc/passwd", "' OR 1=1 --", "\0"])
def test_unknown_id_gives_an_error_sentence(bench: ArtifactTools, id_: str) -> None:
    bench.keep(TEXT)
    result = bench.fetch(id_)
    assert result.text.startswith("Error: there is no artifact")
    assert "call the tool again" in result.text


def test_expired_artifact_cannot_be_fetched(bench: ArtifactTools, clock: Clock) -> None:
    id_ = bench.keep(TEXT)
    clock.ahead(24 * 3600 - 60)
    assert bench.fetch(id_).ok
    clock.ahead(24 * 3600 + 60)
    assert bench.fetch(id_).text.startswith("Error: there is no artifact")


def test_storing_the_same_text_again_extends_its_ttl(bench: ArtifactTools, clock: Clock) -> None:
    id_ = bench.keep(TEXT)
    clock.ahead(20 * 3600)
    bench.keep(TEXT)
    clock.ahead(40 * 3600)
    assert slice_of(bench.fetch(id_).text) == TEXT[:16_000]


def test_ttl_can_be_configured(make_bench: Callable[..., ArtifactTools], clock: Clock) -> None:
    bench = make_bench(ttl_hours=1)
    id_ = bench.keep(TEXT)
    clock.ahead(3700)
    assert "stored for 1 hours" in bench.fetch(id_).text


def _rows(bench: ArtifactTools) -> int:
    database = sqlite3.connect(bench.harness.home / "hookline.db")
    (count,) = database.execute(
        "SELECT (SELECT count(*) FROM artifacts_texts) + (SELECT count(*) FROM artifacts_parts)"
    ).fetchone()
    database.close()
    return int(count)


def test_cleanup_job_deletes_expired_artifacts(bench: ArtifactTools, clock: Clock) -> None:
    jobs: list[Job] = []
    bench.harness.plugin(Artifacts).register_jobs(jobs.append)
    bench.keep(TEXT)
    bench.harness.run(jobs[0].run())  # type: ignore[arg-type]
    assert _rows(bench) == 2
    clock.ahead(25 * 3600)
    bench.harness.run(jobs[0].run())  # type: ignore[arg-type]
    assert _rows(bench) == 0


def test_storing_deletes_expired_artifacts(bench: ArtifactTools, clock: Clock) -> None:
    bench.keep(TEXT)
    clock.ahead(25 * 3600)
    bench.keep(TEXT + "more")
    assert _rows(bench) == 2


# Searching


def test_search_gives_matching_lines_with_offsets(bench: ArtifactTools) -> None:
    shown = bench.fetch(bench.keep(TEXT), pattern=r"line 0[01]42").text
    lines = slice_of(shown).split("\n")
    assert lines == ["504: line 0042 😀", "1704: line 0142 😀"]
    assert TEXT[1704:].startswith("line 0142")


def test_search_begins_at_the_offset(bench: ArtifactTools) -> None:
    shown = bench.fetch(bench.keep(TEXT), pattern="line 0[01]42", offset=600).text
    assert slice_of(shown) == "1704: line 0142 😀"


def test_search_continues_where_it_stopped(bench: ArtifactTools) -> None:
    id_ = bench.keep(TEXT)
    found: list[str] = []
    offset = 0
    while True:
        shown = bench.fetch(id_, pattern="[05] 😀$", offset=offset, length=3_000).text
        assert len(slice_of(shown)) <= 3_000
        found += slice_of(shown).split("\n")
        more = GO_ON.search(shown)
        if more is None:
            break
        offset = int(more[1])
    assert found == [f"{n * 12}: line {n:04} 😀" for n in range(5_000) if n % 5 == 0]


def test_search_finds_every_match_in_one_long_line(bench: ArtifactTools) -> None:
    text = "".join(f"{number:04}," for number in range(10_000))
    shown = slice_of(bench.fetch(bench.keep(text), pattern="[0-9]500").text)
    for line in shown.split("\n"):
        offset, part = line.split(": ")
        assert text[int(offset) :].startswith(part)
    assert all(f"{n}500" in shown for n in range(10))


def test_search_covers_a_line_of_many_pieces_to_its_end(bench: ArtifactTools) -> None:
    text = "first\n" + "x" * 250_000 + "last\nvery last"
    id_ = bench.keep(text)
    shown = slice_of(bench.fetch(id_, pattern="last").text).split("\n")
    assert shown[-1] == "250011: very last"
    offset, part = shown[0].split(": ")
    assert text[int(offset) :].startswith(part)
    assert part.endswith("xxxlast")
    assert slice_of(bench.fetch(id_, pattern="last", offset=250_009).text) == shown[-1]


def test_search_without_a_match_says_so(bench: ArtifactTools) -> None:
    assert bench.fetch(bench.keep(TEXT), pattern="nothing").text == "No line matches 'nothing'."


def test_empty_pattern_equals_no_pattern(bench: ArtifactTools) -> None:
    assert slice_of(bench.fetch(bench.keep(TEXT), pattern="").text) == TEXT[:16_000]


@pytest.mark.slow
def test_catastrophic_pattern_is_stopped(
    bench: ArtifactTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_artifacts.search.SEARCH_TIMEOUT", 0.2)
    text = "found\n" + "a" * 5_000 + "b\n"
    id_ = bench.keep(text)
    alone = bench.fetch(id_, pattern="(a|aa)+$")
    assert alone.text.startswith("Error: the search was stopped at offset 6")
    beside = bench.fetch(id_, pattern="found|(a|aa)+$").text
    assert beside.startswith("0: found\n")
    assert "the search took too long, go on with offset=6" in beside


def test_other_calls_run_during_a_slow_search(
    bench: ArtifactTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_artifacts.search.SEARCH_TIMEOUT", 0.2)
    id_ = bench.keep("a" * 5_000 + "b")
    slow = calls("fetch_artifact", id=id_, pattern="(a|aa)+$")
    results = bench.run(slow, calls("fetch_artifact", id=id_, length=1), slow)
    assert [result.ok for result in results] == [False, True, False]


PIECES = st.sampled_from([*"ab().*+?[]{}|^$\\-:,!=<>#1290 \n", "(?P<n>", "(?R)", "(?<=", "\\p{L}"])


@given(st.lists(PIECES, max_size=25).map("".join), st.text("ab1\n ", max_size=80), st.data())
def test_any_pattern_gives_matches_or_a_sentence(pattern: str, text: str, data: Any) -> None:
    start = data.draw(st.integers(0, len(text)))
    if not pattern:
        return
    try:
        found = search(text, pattern, start, 200)
    except ToolError:  # anything else fails the test
        return
    for match in found.matches:
        assert text[match.start :].startswith(match.text)
        assert "\n" not in match.text


@given(st.text("xy\n\r", max_size=200), st.integers(1, 60))
def test_continued_searches_find_what_one_search_finds(text: str, room: int) -> None:
    whole = search(text, "x", 0, 10**9).matches
    parts, start = [], 0
    while True:
        found = search(text, "x", start, room)
        parts += found.matches
        if found.rest is None:
            break
        assert found.rest > start or start == 0
        start = found.rest
    assert parts == whole


PAGES = [
    ((), (Origin("workspace", "tool say_from"),)),
    (("https://a.example",), (Origin("outside", "https://a.example"),)),
    (
        ("https://a.example", "https://b.example"),
        (Origin("outside", "https://a.example"), Origin("outside", "https://b.example")),
    ),
]


@pytest.mark.parametrize(("urls", "expected"), PAGES, ids=["own", "page", "two pages"])
def test_fetched_slice_has_the_origins_of_the_whole(
    bench: ArtifactTools, urls: tuple[str, ...], expected: tuple[Origin, ...]
) -> None:
    bench.speak(TEXT)
    for url in urls or ("",):
        (said,) = bench.run(calls("say_from", url=url))
    marker = MARKER.search(said.text)
    assert marker is not None
    assert bench.fetch(marker[2]).origins == expected
    assert bench.fetch(marker[2], pattern="line 0001").origins == expected
