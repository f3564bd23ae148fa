"""``post_answer``: a plugin makes a turn go on after the model's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Context, Continue, Origin, Plugin, Turn, hookimpl
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Harness]


class Checker(Plugin[NoConfig]):
    """Does not count a turn as finished before its answer says so."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[tuple[str, int]] = []

    @hookimpl
    def post_answer(self, ctx: Context, turn: Turn) -> Continue | None:
        self.seen.append((turn.reply, turn.continued))
        if "finished" in turn.reply:
            return None
        return Continue("Say when you are finished.", (Origin("workspace", "check.sh"),))


def test_hook_post_answer(harness: Make) -> None:
    h = harness(Checker, model=["one", "two", "finished", "finished again"])
    assert h.send("go").text == "finished"
    assert h.plugin(Checker).seen == [("one", 0), ("two", 1), ("finished", 2)]
    (last,) = h.model.requests[1].messages[-1].blocks
    assert last.text == "Say when you are finished."
    assert last.origins == (Origin("workspace", "check.sh"),)
    assert h.send("again").text == "finished again"
    assert h.plugin(Checker).seen[-1] == ("finished again", 0)


def test_turn_ends_after_five_times(harness: Make) -> None:
    h = harness(Checker, model=[f"answer {number}" for number in range(9)])
    outcome = h.send("go")
    assert outcome.text == "answer 5"
    assert any("gone on 5 times" in notice.text for notice in outcome.notices)


def test_limit_of_model_calls_counts(harness: Make) -> None:
    h = harness(Checker, model=["one", "two", "three"], core={"max_iterations": 2})
    outcome = h.send("go")
    assert outcome.stop == "max_iterations"
    assert len(h.model.requests) == 3


def test_failing_plugin_does_not_hold_the_turn(harness: Make) -> None:
    class Broken(Plugin[NoConfig]):
        @hookimpl
        def post_answer(self, ctx: Context, turn: Turn) -> Continue | None:
            raise ValueError("logged")

    h = harness(Broken, model=["done"], strict=False)
    assert h.send("go").text == "done"


@pytest.mark.parametrize("reason", ["", "  "])
def test_continue_needs_a_reason(reason: str) -> None:
    with pytest.raises(ValueError, match="reason"):
        Continue(reason)
