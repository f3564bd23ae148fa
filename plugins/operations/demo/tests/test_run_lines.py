"""Reading of the lines that a run prints, and the numbers counted from them."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hookline_demo.cost import estimate
from hookline_demo.process import parsed
from hookline_demo.run_display import HEAD_LINES, MAX_LINE_CHARS, TAIL_LINES, RunDisplay, shortened
from hookline_demo.run_record import RunRecord
from hookline_demo.screen import Screen
from hypothesis import given
from hypothesis import strategies as st

KINDS = ("start", "delta", "tool_call", "tool_result", "question", "notice", "error", "result")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
fields = st.sampled_from(
    ["text", "id", "name", "arguments", "ok", "usage", "stop", "plugin", "tool_calls", "more"]
)
lines = st.builds(
    lambda kind, rest: {"type": kind, **rest},
    st.sampled_from(KINDS) | json_values,
    st.dictionaries(fields, json_values, max_size=5),
)


def show(*given_lines: dict[str, Any]) -> str:
    """What is shown of these lines."""
    stream = io.StringIO()
    live = RunDisplay(Screen(stream))
    for line in given_lines:
        live.show(line)
    return stream.getvalue()


@pytest.mark.slow
@given(st.lists(lines, max_size=8))
def test_any_line_is_read_and_cannot_control_the_terminal(several: list[dict[str, Any]]) -> None:
    record = RunRecord()
    for line in several:
        record.add(line)
    text = show(*several)
    assert all(c in "\n\t" or c.isprintable() or ord(c) > 0x9F for c in text)
    assert len(record.calls) == sum(line["type"] == "tool_call" for line in several)
    assert all(cost.uncached is not None for cost in estimate(record).costs)


@given(st.binary(max_size=40))
def test_non_json_lines_are_skipped(raw: bytes) -> None:
    line = parsed(raw)
    assert line is None or raw.strip().startswith(b"{") or raw.startswith(b"\xef\xbb\xbf")


def test_unknown_line_type_does_not_hide_text() -> None:
    words = show(
        {"type": "delta", "text": "one "},
        {"type": "weather", "text": "rain"},
        {"type": "delta", "text": "two"},
    )
    assert "one" in words
    assert "two" in words
    assert "rain" not in words


def test_unstreamed_reply_is_shown() -> None:
    call = {"type": "tool_call", "id": "1", "name": "glob", "arguments": {}}
    answer = {"type": "tool_result", "id": "1", "name": "glob", "ok": True, "text": "a.py"}
    said = {"type": "delta", "text": "I look."}
    result = {"type": "result", "text": "There is one.", "stop": "done"}
    assert "There is one." in show(said, call, answer, result)
    assert show(said, result).count("There is one.") == 0


def test_results_of_parallel_calls_name_their_call() -> None:
    calls = [
        {"type": "tool_call", "id": str(n), "name": "read_file", "arguments": {"path": f"{n}.py"}}
        for n in (1, 2)
    ]
    results = [{"type": "tool_result", "id": str(n), "ok": True, "text": f"of {n}"} for n in (1, 2)]
    text = show(*calls, *results)
    assert text.index("< read_file path=1.py") < text.index("of 1")
    assert text.index("< read_file path=2.py") < text.index("of 2")


def test_notice_that_is_no_refusal_is_shown() -> None:
    notice = {"type": "notice", "plugin": "budget", "text": "half is spent"}
    assert "[budget] half is spent" in show(notice, {"type": "result", "text": "", "stop": "done"})


@given(st.text(max_size=4000))
def test_shown_result_is_short(text: str) -> None:
    shown = shortened(text)
    assert len(shown) <= HEAD_LINES + TAIL_LINES + 1
    assert all(len(line) <= MAX_LINE_CHARS for line in shown)


def test_long_result_keeps_both_ends_and_counts_the_rest() -> None:
    shown = shortened("\n".join(f"line {n}" for n in range(100)))
    assert shown[0] == "line 0"
    assert shown[-1] == "line 99"
    assert f"{100 - HEAD_LINES - TAIL_LINES} lines left out" in shown[HEAD_LINES]


def test_responses_are_counted_between_results() -> None:
    record = RunRecord()
    answered = {"type": "tool_result", "text": "Denied: not that one"}
    call = {"type": "tool_call"}
    told = {"type": "notice", "plugin": "core", "text": "bash was refused"}
    said = {"type": "delta", "text": "I"}
    for line in ({"type": "start"}, said, said, call, call, told, answered, answered, said):
        record.add(line)
    assert record.responses == 2
    assert record.refusals == ["not that one"] * 2


def test_cost_is_tokens_times_prices() -> None:
    record = RunRecord()
    usage = {"input": 1_000_000, "cache_read": 400_000, "output": 100_000}
    record.add({"type": "result", "text": "done", "stop": "done", "usage": usage})
    [cost] = [c for c in estimate(record).costs if c.model == "anthropic/claude-sonnet-4-5"]
    # 3 dollars a million in, 0.30 from the cache, 15 out
    assert cost.uncached == pytest.approx(3.0 + 1.5)
    assert cost.cached == pytest.approx(0.6 * 3.0 + 0.4 * 0.3 + 1.5)


def test_colours_are_used_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def said() -> str:
        stream = Terminal()
        Screen(stream).say("words", "bold")
        return stream.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert said() == "\x1b[1mwords\x1b[0m\n"
    monkeypatch.setenv("TERM", "dumb")
    assert said() == "words\n"


def test_lines_wrap_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "24")
    stream = Terminal()
    Screen(stream).say("  the words of a long line\n\nand one more")
    assert stream.getvalue() == "  the words of a long\n  line\n\nand one more\n"


def test_unencodable_characters_are_replaced() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Screen(stream).say("a → b")
    assert raw.getvalue() == b"a ? b\n"
