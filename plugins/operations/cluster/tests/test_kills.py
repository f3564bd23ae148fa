"""Killed and frozen processes: nothing is lost, nothing is done twice. Takes a while."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from .conftest import Cluster

STEPS = """steps:
- {when: "^work", tools: [{name: bash, arguments: {command: "echo ran >> done"}}], repeat: true}
- {when: "exit code 0", text: "worked", delay: 8, repeat: true}
- {when: ".", text: "answered", repeat: true}
"""


@pytest.fixture
def done(cluster: Cluster, tmp_path: Path) -> Path:
    """The file to which each run of the tool adds a line."""
    shared = tmp_path / "work"
    shared.mkdir()
    cluster.script = STEPS
    cluster.core |= {"workspace": str(shared)}
    cluster.plugins |= {"shell": {}}
    return shared / "done"


def _under_way(cluster: Cluster, done: Path) -> None:
    """A turn whose tool has finished, in the worker ``w1``."""
    cluster.start("gateway", "gateway", "--no-turns")
    cluster.start("w1", "worker")
    assert cluster.post("gateway", "m1", "work") == 202
    cluster.wait(done.exists)
    time.sleep(1.0)  # the result is committed within it; the next request takes eight seconds


@pytest.mark.slow
def test_turn_of_killed_worker_is_resumed_without_rerunning_tools(
    cluster: Cluster, done: Path
) -> None:
    _under_way(cluster, done)
    cluster.start("w2", "worker")
    killed = time.monotonic()
    cluster.machines["w1"].end(signal.SIGKILL)
    assert cluster.replies.wait_for(1) == ["worked"]
    assert cluster.replies.posts[0]["at"] - killed < 20 + 8
    assert done.read_text().split() == ["ran"]


@pytest.mark.slow
def test_frozen_worker_is_replaced_and_exits_when_it_wakes(cluster: Cluster, done: Path) -> None:
    _under_way(cluster, done)
    cluster.start("w2", "worker")
    frozen = time.monotonic()
    first = cluster.machines["w1"]
    first.send(signal.SIGSTOP)
    assert cluster.replies.wait_for(1) == ["worked"]
    assert cluster.replies.posts[0]["at"] - frozen < 20 + 8
    first.send(signal.SIGCONT)
    assert first.process is not None
    assert first.process.wait(60) == 1
    first.wait_until_said("others have taken over its work")
    time.sleep(3)
    assert [one["in_reply_to"] for one in cluster.replies.posts] == ["m1"]
    assert done.read_text().split() == ["ran"]


@pytest.mark.slow
def test_briefly_frozen_worker_continues_its_turn(cluster: Cluster, done: Path) -> None:
    _under_way(cluster, done)
    cluster.start("w2", "worker")
    cluster.machines["w1"].send(signal.SIGSTOP)
    time.sleep(6)
    cluster.machines["w1"].send(signal.SIGCONT)
    assert cluster.replies.wait_for(1) == ["worked"]
    time.sleep(3)
    assert len(cluster.replies.posts) == 1
    assert done.read_text().split() == ["ran"]


@pytest.mark.slow
def test_messages_of_killed_gateway_get_replies_through_another(cluster: Cluster) -> None:
    cluster.start("g1", "gateway", "--no-turns")
    cluster.start("g2", "gateway", "--no-turns")
    for number in range(20):
        assert cluster.post("g1", f"m{number}", chat=f"c{number % 5}") == 202
    cluster.machines["g1"].end(signal.SIGKILL)
    cluster.start("w1", "worker")
    cluster.replies.wait_for(20)
    for chat in range(5):
        mine = [one["in_reply_to"] for one in cluster.replies.posts if one["chat"] == f"c{chat}"]
        assert mine == [f"m{number}" for number in range(20) if number % 5 == chat]


@pytest.mark.slow
def test_repeated_worker_kills_lose_and_repeat_nothing(cluster: Cluster) -> None:
    cluster.script = 'steps: [{when: ".", text: "answered", delay: 0.3, repeat: true}]\n'
    cluster.start("gateway", "gateway", "--no-turns")
    cluster.start("w0", "worker", "--turns", "4")
    cluster.start("w1", "worker", "--turns", "4")
    sent = 0
    for kill in range(6):
        for _ in range(10):
            assert cluster.post("gateway", f"m{sent}", chat=f"c{sent % 7}") == 202
            sent += 1
        name = f"w{kill % 2}"
        cluster.machines[name].end(signal.SIGKILL)
        cluster.start(name, "worker", "--turns", "4")
    cluster.replies.wait_for(sent)
    time.sleep(2)
    assert len(cluster.replies.posts) == sent
    for chat in range(7):
        mine = [one["in_reply_to"] for one in cluster.replies.posts if one["chat"] == f"c{chat}"]
        assert mine == [f"m{number}" for number in range(sent) if number % 7 == chat]
