"""A review replays the bytes that were sent, so the provider's cache serves them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import anthropic_server, openai_server
from support.machine import Machine

REVIEW = "This is a review of the conversation"
PORTRAIT = "You keep a short profile"
WORK = 12
"""Responses that call a tool; ten make a review of skills due."""
PAGE = "".join(f"{n:05d} what stands in the long file that the work is about\n" for n in range(400))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "work").mkdir()
    for number in range(WORK):
        (tmp_path / "work" / f"{number}.txt").write_text(f"{number}\n{PAGE}")
    return Machine(tmp_path / "home", tmp_path / "work")


def script(fake: Any, review: Callable[[int], Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Works through the files; what is asked in the background is answered by ``review(n)``."""
    done = {"work": 0, "review": 0}

    def answer(body: Mapping[str, Any]) -> Any:
        sent = json.dumps(body)
        if PORTRAIT in sent:
            return fake.Reply('{"narrative": null}')
        if REVIEW in sent:
            done["review"] += 1
            return review(done["review"])
        done["work"] += 1
        if done["work"] > WORK:
            return fake.Reply("All of them are read.")
        call = fake.Use("read_file", {"path": f"{done['work'] - 1}.txt"})
        return fake.Reply(tools=(call,))

    return answer


def reviews(server: Any) -> list[Any]:
    return [
        r for r in server.requests if REVIEW in r.raw.decode() and PORTRAIT not in r.raw.decode()
    ]


def turns(server: Any) -> list[Any]:
    return [r for r in server.requests if REVIEW not in r.raw.decode() and "tools" in r.json]


@pytest.mark.slow
def test_review_that_finds_nothing_takes_one_cached_request(machine: Machine) -> None:
    fake = anthropic_server
    machine.env["HOOKLINE_MODEL"] = "anthropic/claude-sonnet-4-5"
    with fake.AnthropicServer(script(fake, lambda _n: fake.Reply("Nothing to save."))) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url}
        done = machine.run("run", "Read all files.", "--no-input", env=env)
    assert (done.code, done.out) == (0, "All of them are read.\n"), done.err
    (review,) = reviews(server)
    turn = turns(server)[-1]
    assert (review.json["system"], review.json["tools"]) == (
        turn.json["system"],
        turn.json["tools"],
    )
    used = review.usage
    total = sum(used[name] for name in USED)
    assert used["cache_read_input_tokens"] / total >= 0.95, used


USED = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@pytest.mark.slow
def test_review_on_the_openai_wire_replays_the_same_bytes(machine: Machine) -> None:
    fake = openai_server
    machine.env["HOOKLINE_MODEL"] = "openai/gpt-5"
    with fake.OpenAIServer(script(fake, lambda _n: fake.Reply("Nothing to save."))) as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        done = machine.run("run", "Read all files.", "--no-input", env=env)
    assert done.code == 0, done.err
    (review,) = reviews(server)
    turn = turns(server)[-1]
    assert review.json["messages"][: len(turn.json["messages"])] == turn.json["messages"]
    assert review.json["tools"] == turn.json["tools"]
    assert review.json.get("prompt_cache_key") == turn.json.get("prompt_cache_key")


@pytest.mark.slow
def test_review_is_invisible_and_does_not_change_the_session(machine: Machine) -> None:
    fake = openai_server
    machine.env["HOOKLINE_MODEL"] = "openai/gpt-5"

    def review(number: int) -> Any:
        if number > 1:
            return fake.Reply("Kept one fact.")
        fact = {"action": "remember", "content": "The files are numbered from 0."}
        return fake.Reply(tools=(fake.Use("memory", fact), fake.Use("bash", {"command": "ls"})))

    with fake.OpenAIServer(script(fake, review)) as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        options = ("--session", "s", "--json", "--no-input")
        done = machine.run("run", "Read all files.", *options, env=env)
    assert done.code == 0, done.err
    assert done.events[-1]["type"] == "result"
    assert "memory" not in {event.get("name") for event in done.events}
    assert "refused" not in done.err
    assert len(machine.said("s")) == 2 * WORK + 2
    assert machine.said("s")[-1] == ("assistant", "All of them are read.")
    listed = machine.run("memory", "list", "--json").json
    assert [(row["text"], row["session"]) for row in listed] == [
        ("The files are numbered from 0.", "s")
    ]
