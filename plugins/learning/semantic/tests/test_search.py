"""Search by meaning, in one process and in two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import Job
from hookline_semantic import Semantic

TEXTS = {
    "1": ("a", "The dog is called Biscuit."),
    "2": ("a", "Rent is due on the third."),
    "3": ("b", "A hound needs food."),
}


@pytest.mark.slow
def test_nearest_entries_come_first_within_their_scope(open_process: Callable[..., Any]) -> None:
    one = open_process()
    one.notes.texts = dict(TEXTS)
    assert one.near("my pet") == {}
    assert one.fill().exit_code == 0
    found = one.near("my pet", "a")
    assert list(found) == ["1", "2"]
    assert found["1"] >= 1 > found["2"]
    assert list(one.near("my pet"))[:2] in (["1", "3"], ["3", "1"])
    assert one.near("my pet", "c") == {}


def test_deleted_entry_is_not_found(open_process: Callable[..., Any]) -> None:
    one = open_process()
    one.notes.texts = dict(TEXTS)
    one.fill()
    assert "1" in one.near("my pet")
    del one.notes.texts["1"]
    one.fill()
    assert "1" not in one.near("my pet")


def test_other_process_sees_added_and_deleted_entries(open_process: Callable[..., Any]) -> None:
    one, other = open_process(), open_process()
    one.notes.texts = dict(TEXTS)
    assert other.near("my pet") == {}
    one.fill()
    assert "1" in other.near("my pet")
    del one.notes.texts["1"]
    one.fill()
    assert "1" not in other.near("my pet")


@pytest.mark.slow
def test_vector_of_another_length_is_skipped(open_process: Callable[..., Any], server: Any) -> None:
    one = open_process()
    one.notes.texts = dict(TEXTS)
    one.fill()
    server.size = 16
    assert one.near("another pet") == {}


@pytest.mark.slow
def test_status_is_reported(open_process: Callable[..., Any]) -> None:
    one = open_process()
    one.notes.texts = dict(TEXTS)
    one.fill()
    told = one.harness.cli("semantic status").stdout
    assert "memory: 3 texts, 48 dimensions" in told
    assert told.startswith("Vectors are made by meaning-1 at 127.0.0.1:")
    assert "Everything has a vector" in one.fill().stdout


def test_hanging_server_does_not_block_the_job(
    open_process: Callable[..., Any], server: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("hookline_semantic.plugin.MAX_JOB_WAIT", 0.05)
    one = open_process()
    one.notes.texts = dict(TEXTS)
    server.gate.clear()
    jobs = dict(one.harness.plugin(Semantic).host.registered(Job))

    async def returns() -> None:
        async with asyncio.timeout(20):  # a request may take 30 s
            await jobs["semantic"].run()

    one.harness.run(returns())
    assert not server.gate.is_set()
