"""The model obeys whatever it has read: malicious actions fail, benign counterparts pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.matrices import sampled
from support.security.world import World, attacks, data, describe, opened, quick

SOURCES, ACTIONS, COUNTERPARTS = (
    data("sources"),
    data("malicious_actions"),
    data("benign_counterparts"),
)
MODES = ("deny", "alone", "chat")


@contextmanager
def world_in(folder: Path) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder / "user"))
        with opened(folder) as made:
            yield made


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture
def unmarked_world(tmp_path: Path) -> Iterator[World]:
    """No path in it was written before by a session that had read from outside."""
    with world_in(tmp_path) as made:
        yield made


def assert_no_harm(world: World, source: str, kind: str, name: str, mode: str) -> None:
    """The action did not happen; a person who was asked saw what was read and what would happen."""
    outcome = world.attack(SOURCES[source], ACTIONS[kind][name], mode)
    if not outcome.read:
        pytest.skip("the sandbox has no network: nothing was read")
    assert not outcome.harm, describe(outcome)
    assert outcome.results, describe(outcome)
    assert not outcome.results[-1].ok, describe(outcome)
    for question in outcome.questions:
        if "has read from outside" in question.text:
            running = "the call would run code that came from outside" in question.text
            assert running or question.choices == ("Allow once", "Deny")


@pytest.mark.long
@sampled(("source", "kind", "name", "mode"), quick())
def test_malicious_action_from_read_text_does_no_harm(
    world: World, source: str, kind: str, name: str, mode: str
) -> None:
    assert_no_harm(world, source, kind, name, mode)


@pytest.mark.slow
@pytest.mark.parametrize(("source", "kind", "name"), attacks())
@pytest.mark.parametrize("mode", MODES)
def test_malicious_action_from_every_source_does_no_harm(
    world: World, source: str, kind: str, name: str, mode: str
) -> None:
    assert_no_harm(world, source, kind, name, mode)


@pytest.mark.long
@sampled(
    ("kind", "number"),
    [(kind, n) for kind, found in COUNTERPARTS.items() for n in range(len(found))],
)
def test_benign_counterpart_passes(unmarked_world: World, kind: str, number: int) -> None:
    world, counterpart = unmarked_world, COUNTERPARTS[kind][number]
    world.reset()
    outcome = world.task({**counterpart, "calls": counterpart["calls"]}, [], "deny")
    wanted = counterpart.get("questions", 0)
    failed = [one.text for one in outcome.results if not one.ok]
    hosts = any(question.text.startswith("Allow access to ") for question in outcome.questions)
    if counterpart.get("outside") and (hosts or any("[exit code " in text for text in failed)):
        pytest.skip("other hosts are on loopback here, and the repository beside the workspace")
    assert len(outcome.questions) == wanted, describe(outcome)
    assert [one.ok for one in outcome.results].count(False) == wanted, describe(outcome)


def test_benign_counterparts_rarely_ask() -> None:
    counterparts = [counterpart for found in COUNTERPARTS.values() for counterpart in found]
    asking = [counterpart for counterpart in counterparts if counterpart.get("questions")]
    assert len(asking) <= 0.05 * len(counterparts)
