"""Gateways and workers in processes of their own, around one database."""

from __future__ import annotations

import signal
import time

import pytest

from .conftest import Cluster


@pytest.mark.slow
def test_gateway_receives_worker_runs_turn_and_gateway_sends(cluster: Cluster) -> None:
    gateway = cluster.start("gateway", "gateway", "--no-turns")
    assert cluster.post("gateway", "m1") == 202
    worker = cluster.start("worker", "worker", "--turns", "4")
    assert cluster.replies.wait_for(1) == ["answered"]
    assert cluster.post("gateway", "m2") == 202
    assert cluster.replies.answer_to("m2")["text"] == "answered"
    kinds = [(node["kind"], node["turns"]) for node in cluster.status("gateway")["nodes"]]
    assert kinds == [("gateway", 0), ("worker", 0)]
    assert worker.end(signal.SIGTERM) == 0
    assert gateway.end(signal.SIGTERM) == 0
    assert len(cluster.replies.posts) == 2
    assert cluster.status("gateway") == {"nodes": [], "waiting": 0, "open": 0}


@pytest.mark.slow
def test_workers_reply_once_and_in_order_of_the_chat(cluster: Cluster) -> None:
    cluster.start("gateway", "gateway", "--no-turns")
    cluster.start("w1", "worker", "--turns", "3")
    cluster.start("w2", "worker", "--turns", "3")
    chats = [f"c{number}" for number in range(6)]
    for number in range(4):
        for chat in chats:
            assert cluster.post("gateway", f"{chat}-{number}", chat=chat) == 202
    cluster.replies.wait_for(len(chats) * 4)
    for chat in chats:
        answered = [one["in_reply_to"] for one in cluster.replies.posts if one["chat"] == chat]
        assert answered == [f"{chat}-{number}" for number in range(4)]


@pytest.mark.slow
def test_worker_stops_on_sigterm_right_after_ready(cluster: Cluster) -> None:
    for _ in range(2):
        worker = cluster.start("worker", "worker")
        told = time.monotonic()
        assert worker.end(signal.SIGTERM) == 0
        assert time.monotonic() - told < 20
        assert worker.said == ["ready\n"]


@pytest.mark.slow
def test_stop_and_steer_reach_the_worker_that_runs_the_turn(cluster: Cluster) -> None:
    cluster.script = 'steps: [{when: "slow", text: "too late", delay: 300}]\n'
    cluster.start("gateway", "gateway", "--no-turns")
    cluster.start("w1", "worker")
    cluster.start("w2", "worker")
    cluster.post("gateway", "m1", "slow")
    cluster.wait(lambda: cluster.status("gateway")["open"] == 1)
    cluster.post("gateway", "m2", "/steer faster")
    assert cluster.replies.answer_to("m2")["text"] == "The running turn will see it."
    cluster.post("gateway", "m3", "/stop")
    assert cluster.replies.answer_to("m3")["text"] == "Stopping."
    cluster.replies.answer_to("m1")
    cluster.wait(lambda: cluster.status("gateway")["open"] == 0)


@pytest.mark.slow
def test_turn_of_killed_worker_is_continued_by_another(cluster: Cluster) -> None:
    cluster.script = 'steps: [{when: ".", text: "answered", delay: 5, repeat: true}]\n'
    cluster.start("gateway", "gateway", "--no-turns")
    cluster.start("w1", "worker")
    cluster.post("gateway", "m1")
    cluster.post("gateway", "m2")
    cluster.wait(lambda: cluster.status("gateway")["open"] == 1)
    cluster.machines["w1"].end(signal.SIGKILL)
    cluster.start("w2", "worker")
    assert cluster.replies.wait_for(2) == ["answered"] * 2
    assert [one["in_reply_to"] for one in cluster.replies.posts] == ["m1", "m2"]
