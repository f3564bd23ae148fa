"""Gateways and workers in processes of their own, around one database."""

from __future__ import annotations

import signal

from .conftest import Cluster


def test_a_gateway_receives_a_worker_works_and_the_gateway_sends(cluster: Cluster) -> None:
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
