"""Progress of a turn, lines of tool results, and queued messages."""

from __future__ import annotations

from hookline_hookspecs import ToolCall, ToolResult, Wait
from hookline_terminal.activity import call_line
from hookline_terminal.live_area import LiveArea
from hookline_terminal.progress import TurnProgress
from hookline_terminal.queued_messages import MAX_SHOWN, QueuedMessages
from hookline_terminal.styles import unstyled
from hookline_terminal.tool_results import FoldLimits, result_rows

FOLDS = FoldLimits(diff=4, output=3)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress_counts_seconds_for_each_step() -> None:
    clock = Clock()
    progress = TurnProgress(clock)
    assert progress.lines(80, 6) == []
    progress.start()
    clock.now += 72
    assert progress.lines(80, 6)[0][2:] == "thinking 1 min 12 s · esc stops"
    call = ToolCall("1", "bash", {"command": "pytest -q"})
    progress.add_calls([call])
    progress.start_call(call)
    clock.now += 60
    progress.restart_clocks()  # a person took a minute to say yes
    clock.now += 3
    assert progress.lines(80, 6)[0][2:] == "bash pytest -q 3 s · esc stops"
    progress.end_call(call)
    assert "thinking 0 s" in progress.lines(80, 6)[0]
    progress.end()
    assert progress.lines(80, 6) == []


def test_plan_is_shown_above_status_while_turn_runs() -> None:
    live = LiveArea(4)
    live.board = "Plan: 2 of 6 done\n✓ a\n✓ b\n▸ c\x1b[2J\n○ d\n○ e\n○ f"
    rows = "".join(text for _, text, *_ in live.rows(40)).splitlines()
    assert rows == ["  Plan: 2 of 6 done", "  ▸ c\\x1b[2J", "  ○ d", "  … 4 more"]
    live.board = "Plan: 0 of 1 done\n○ " + "long " * 40
    assert [len(text.rstrip("\n")) <= 40 for _, text, *_ in live.rows(40)] == [True, True]
    live.end()
    assert live.rows(40) == []


def test_call_with_board_is_one_line() -> None:
    call = ToolCall("1", "plan", {"steps": [{"text": "a", "state": "done"}]})
    data = {"board": "1 of 2 done, now: b"}
    result = ToolResult(call, "Plan: 1 of 2 done.", data=data, shown="Plan\n✓ a\n▸ b")
    rows, is_more = result_rows(result, 80, FOLDS)
    assert [unstyled(row) for row in rows] == ["✓ plan 1 of 2 done, now: b · ok · 0 ms"]
    assert is_more


def test_waiting_status_counts_down() -> None:
    clock = Clock()
    progress = TurnProgress(clock)
    progress.start()
    progress.set_waiting("", Wait("local 30 s is rate-limited", 12))
    clock.now += 5
    [line] = progress.lines(80, 6)
    assert "local 30 s is rate-limited; trying again in 7 s · esc stops" in line
    clock.now += 50
    assert "trying again now" in progress.lines(80, 6)[0]
    progress.set_answering()
    assert "answering" in progress.lines(80, 6)[0]


def test_reasoning_is_shown_while_it_lasts_and_timed_once() -> None:
    clock = Clock()
    progress = TurnProgress(clock)
    progress.start()
    progress.add_thought("first\n\x1b[2Jsecond")
    clock.now += 8
    assert progress.thought_lines(40, 1) == ["\\x1b[2Jsecond"]
    assert (progress.take_thinking_time(), progress.take_thinking_time()) == (8.0, None)
    assert progress.thought_lines(40, 1) == []


def test_call_line_shows_path_first_and_line_counts() -> None:
    call = ToolCall("1", "edit_file", {"old_string": "a\nb", "new_string": "c", "path": "x.py"})
    assert call_line(call) == "edit_file x.py, old_string=(2 lines), new_string=c"


def test_refusal_shows_its_sentence_for_people() -> None:
    call = ToolCall("1", "bash", {"command": "rm -rf /"})
    result = ToolResult(call, "Denied: no. Do not try again.", False, shown="Denied: It deletes.")
    rows, more = result_rows(result, 80, FOLDS)
    assert [unstyled(row) for row in rows] == ["✗ bash rm -rf / · denied · 0 ms", "  It deletes."]
    assert not more


def test_wide_and_control_characters_stay_within_screen() -> None:
    call = ToolCall("1", "bash", {"command": "echo 雪\x1b]0;x\x07" + "雪" * 60})
    result = ToolResult(call, "\x1b[2J" + "雪" * 100 + "\n[exit code 0]", data={"exit_code": 0})
    rows, _ = result_rows(result, 40, FOLDS)
    from hookline_markdown import width_of

    assert all(width_of(unstyled(row)) <= 40 for row in rows)
    assert "\x1b[2J" not in "".join(rows)


def test_only_first_queued_messages_are_shown() -> None:
    queued = QueuedMessages()
    for number in range(MAX_SHOWN + 2):
        queued.add(str(number), f"line {number}")
    assert queued.lines(80)[0] == "queued › line 0"
    assert queued.lines(80)[-1] == "and 2 more"
    assert queued.take("0") == "line 0"
    assert queued.take("0") is None
