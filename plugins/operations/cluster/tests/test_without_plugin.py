"""Two gateways on one store, without the plugin: each message is worked on by one of them."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from .conftest import Cluster


@pytest.fixture(params=["postgresql", "sqlite"])
def two_gateways(cluster: Cluster, request: pytest.FixtureRequest) -> Cluster:
    """Two machines whose gateways work their turns themselves.

    On SQLite the second home has the first one's file, which nobody should do; one home refuses a
    second gateway.
    """
    cluster.plugins |= {"cluster": False}
    if request.param == "sqlite":
        cluster.store = "sqlite"
        first, second = cluster.machine("g1").home, cluster.machine("g2").home
        (second / "hookline.db").symlink_to(first / "hookline.db")
    cluster.start("g1", "gateway")
    cluster.start("g2", "gateway")
    return cluster


@pytest.mark.slow
def test_message_received_by_both_gateways_gets_one_turn(two_gateways: Cluster) -> None:
    """Each chat's messages come to both gateways at the same moment."""
    messages = [(f"c{chat}-{number}", f"c{chat}") for number in range(4) for chat in range(5)]
    with ThreadPoolExecutor(8) as pool:
        posts = [
            pool.submit(two_gateways.post, gateway, id_, "hello", chat)
            for id_, chat in messages
            for gateway in ("g1", "g2")
        ]
        assert {post.result() for post in posts} == {202}
    two_gateways.replies.wait_for(len(messages))
    for name in ("g1", "g2"):
        assert two_gateways.machines[name].end(signal.SIGTERM) == 0  # drained
    answered = [str(one["in_reply_to"]) for one in two_gateways.replies.posts]
    assert sorted(answered) == sorted(id_ for id_, _ in messages)
