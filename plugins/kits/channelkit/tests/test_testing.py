"""The helpers for fake platforms (``hookline_channelkit.testing``)."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hookline_channelkit.testing import (
    FAULT_KINDS,
    SHORT_PLAN,
    ChatLog,
    Clock,
    Fault,
    Faults,
    malformed,
    redelivered,
    run_crash_test,
)
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


def test_faults_apply_to_their_route_n_times() -> None:
    faults = Faults()
    faults.add("drop", "send", times=2, after=1)
    faults.add("429", seconds=3, overall=True)
    met = [faults.take(where) for where in ("send", "edit", "send", "send", "send")]
    assert [one and one.kind for one in met] == ["429", None, "drop", "drop", None]
    assert faults.counts == {"429": 1, "drop": 2}
    assert Fault("drop").is_done
    assert not Fault("502").is_done


def test_faults_are_reproducible_by_seed() -> None:
    def run() -> list[str]:
        faults = Faults()
        faults.randomize(7, 0.5, FAULT_KINDS, where=["send"])
        taken = [faults.take("send") for _ in range(60)]
        assert faults.take("edit") is None
        faults.clear()
        assert faults.take("send") is None
        return [one.kind if one else "" for one in taken]

    assert run() == run()
    assert len(set(run())) > 5


@given(st.integers(), st.lists(st.integers(), unique=True, max_size=30))
def test_redelivered_keeps_the_order_of_first_deliveries(seed: int, sent: list[int]) -> None:
    found = redelivered(seed, sent, max_times=4)
    assert list(dict.fromkeys(found)) == sent
    assert all(found.count(one) <= 4 for one in sent)


@given(st.integers(), JSON)
def test_malformed_keeps_required_fields(seed: int, event: Any) -> None:
    def holds(made: Any, was: Any) -> bool:
        if isinstance(was, dict):
            return all(name in made and holds(made[name], one) for name, one in was.items())
        if isinstance(was, list):
            return len(made) == len(was) and all(map(holds, made, was))
        return bool(made == was)

    assert holds(malformed(seed, event), event)


def test_chat_log_keeps_history() -> None:
    chat_log = ChatLog()
    first = chat_log.add("c", "one", token="t")
    timer = threading.Timer(0.02, lambda: chat_log.edit("c", first.id, "two"))
    timer.start()
    assert chat_log.find("two", "c") is first
    assert first.history == ["one", "two"]
    assert chat_log.with_token("c", "t") is first
    assert chat_log.remove("c", first.id) is first
    assert (chat_log.texts(), chat_log.edit("c", first.id, "three")) == ([], None)
    with pytest.raises(AssertionError, match="timed out"):
        chat_log.wait(lambda: False, timeout=0.01)


def test_clock_can_be_advanced() -> None:
    clock = Clock()
    before = clock()
    clock.advance(3600)
    assert 3600 <= clock() - before < 3700


class Echoes:
    """Gateways that answer at once, or as a test says."""

    def __init__(self, *answers: str) -> None:
        self.said: dict[int, list[str]] = {}
        self.spoil = answers

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        died = subprocess.Popen([sys.executable, "-S", "-c", ""])
        died.wait()
        return died

    def say(self, chat: int, text: str) -> None:
        name = text.split()[0]
        self.said.setdefault(chat, []).append(f"{name} is answered")

    def texts(self, chat: int) -> Sequence[str]:
        found = list(self.said.get(chat, []))
        for how in self.spoil:
            if how == "twice":
                found += found[:1]
            elif how == "marked":
                found += [f"(may be a repeat)\n{one}" for one in found[:1]]
            elif how == "order":
                found.reverse()
        return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "finds", "error"),
    [
        ((), True, ""),
        (("marked",), False, ""),
        (("marked",), True, "answered twice"),
        (("twice",), False, "answered twice"),
        (("order",), True, "out of order"),
    ],
)
def test_crash_report_lists_failures(spoil: Any, finds: bool, error: str) -> None:
    storm = replace(SHORT_PLAN, messages=12, kills=1, chats=2, finds=finds)
    report = run_crash_test(Echoes(*spoil), storm)
    if error:
        with pytest.raises(AssertionError, match=error):
            report.check()
    else:
        report.check()
