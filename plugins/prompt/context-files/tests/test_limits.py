"""How long files are cut, and how the limit is shared."""

from __future__ import annotations

import re

import pytest
from hookline_context_files import ContextFilesConfig
from hookline_context_files.character_budget import MIN_ROOM_CHARS, share
from hookline_context_files.document import Document, NotText, Shares, decode_text
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

MARKER = re.compile(r"\n\[… (\d+) characters left out …\]\n")


def body(bench, name: str) -> str:
    """The text under a file's heading in the newest prompt."""
    return re.split(r"\n\n## |\n\n\[…", bench.context().partition(f"## {name}\n")[2])[0]


def test_file_is_cut_exactly_at_the_limit(bench):
    bench.put("AGENTS.md", "😀" * 32_768)
    assert body(bench, "AGENTS.md") == "😀" * 32_768
    assert bench.complaints() == []


def test_cut_is_told_to_the_person(bench):
    bench.put("AGENTS.md", "x" * 40_000)
    bench.context()
    assert bench.complaints() == [
        "AGENTS.md has 40000 characters; the model gets 32768 of them. "
        "Shorten it, or raise context_max_chars of the plugin context-files."
    ]


def test_long_file_keeps_70_percent_head_and_20_percent_tail(make_bench):
    bench = make_bench(context_max_chars=8_000)
    bench.put("AGENTS.md", "é" * 5_600 + "x" * 12_345 + "ü" * 1_600)
    assert body(bench, "AGENTS.md") == (
        "é" * 5_600 + "\n[… 12345 characters left out …]\n" + "ü" * 1_600
    )


def test_soul_has_its_own_limit(make_bench):
    bench = make_bench(soul_max_chars=1_000)
    bench.keep("SOUL.md", "s" * 2_000)
    bench.put("AGENTS.md", "a" * 3_000)
    system = bench.system()
    assert system.startswith("s" * 700 + "\n[… 1100 characters left out …]\n" + "s" * 200 + "\n")
    assert "a" * 3_000 in system


def test_all_files_share_one_limit(make_bench):
    bench = make_bench(context_max_chars=8_000)
    bench.put("AGENTS.md", "a" * 20_000)
    bench.keep("context/long.md", "b" * 20_000)
    bench.keep("context/short.md", "c" * 1_000)
    lengths = [len(body(bench, n)) for n in ("AGENTS.md", "context/long.md", "context/short.md")]
    assert body(bench, "context/short.md") == "c" * 1_000
    assert sum(lengths) <= 8_000
    assert min(lengths[:2]) >= 3_000


def test_files_without_room_are_counted(make_bench):
    bench = make_bench(context_max_chars=1_000)
    for number in range(9):
        bench.keep(f"context/{number}.md", "x" * 900)
    found = bench.context()
    assert found.count("\n## ") == 5
    assert found.endswith("[… 4 more files left out …]")


@given(st.text(max_size=400), st.integers(1, 400), st.floats(0, 1), st.floats(0, 1))
def test_cut_text_fits_and_counts_what_is_left_out(text, room, head, tail):
    shares = Shares(head, min(tail, 1 - head))
    found = Document.of("a", text, room).cut(room, shares)
    if len(text) <= room:
        assert found == text
        return
    marker = list(MARKER.finditer(found))[-1] if "characters left out" not in text else None
    if marker is None:
        return
    before, after = found[: marker.start()], found[marker.end() :]
    assert len(found) <= max(room, len(marker[0]))
    assert text.startswith(before)
    assert text.endswith(after)
    assert int(marker[1]) == len(text) - len(before) - len(after)


@given(st.lists(st.integers(1, 20_000), max_size=60), st.integers(1, 20_000))
def test_share_divides_the_limit_fairly(lengths, budget):
    rooms = share(lengths, budget)
    assert sum(rooms) <= budget
    assert all(0 < room <= length for room, length in zip(rooms, lengths, strict=False))
    assert bool(rooms) == bool(lengths)
    cut = [room for room, length in zip(rooms, lengths, strict=False) if room < length]
    assert len(set(cut)) <= 1
    if cut and len(rooms) > 1:
        assert cut[0] >= MIN_ROOM_CHARS
        assert cut[0] == max(rooms)
    if sum(lengths) <= budget:
        assert rooms == lengths


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(data):
    try:
        text = decode_text(data)
    except NotText:
        return
    text.encode("utf-8")
    assert text == text.strip()
    assert "\r" not in text


@pytest.mark.parametrize(
    "values",
    [
        {"context_max_chars": 0},
        {"soul_max_chars": 0},
        {"head_share": 0.9, "tail_share": 0.2},
        {"head_share": -0.1},
        {"tail_share": 1.1},
    ],
)
def test_invalid_settings_are_refused(values):
    with pytest.raises(ValidationError):
        ContextFilesConfig(**values)
