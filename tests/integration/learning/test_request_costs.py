"""Background requests of a conversation: how many, and how many tokens they add."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline.config import load
from hookline.runtime import Runtime
from hookline_hookspecs import Inbound
from support import anthropic_server, openai_server

TURNS = 12
WORDS = {
    "title": "You name conversations",
    "portrait": "You keep a short profile",
    "review": "This is a review of the conversation",
}
"""Words that only a request of this kind holds."""
ALL = ["main"] * 3 + ["title"] + ["main"] * 8 + ["review", "portrait"] + ["main"] * 2
"""The requests in order: the first turn calls a tool, the tenth makes a review due."""
STABLE = 1_900
"""The most tokens of system prompt and tools, which every request of the standard set repeats."""
MOST = {"title": 190, "portrait": 510, "review": 620}
"""The most tokens (characters / 4) that such a request adds to what the session has sent; the
conversation's own words in it, some 50 tokens, included."""
MODELS = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-5"}
INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_MARKER = re.compile(rb',"cache_control":\{[^}]*\}')


def purpose(request: Any) -> str:
    sent = request.raw.decode()
    return next((name for name, words in WORDS.items() if words in sent), "main")


def script(fake: Any) -> Any:
    """Reads in the first turn; saves a fact in the review."""

    def answer(body: Mapping[str, Any]) -> Any:
        sent = json.dumps(body)
        if WORDS["title"] in sent:
            return fake.Reply("Counting with a small service")
        if WORDS["portrait"] in sent:
            return fake.Reply('{"narrative": null}')
        if WORDS["review"] in sent:
            fact = {"action": "remember", "content": "The service deploys on Fridays."}
            return fake.Reply("Done: when it is deployed.", tools=(fake.Use("memory", fact),))
        if len(body["messages"]) <= 2 and body["messages"][-1]["role"] == "user":
            return fake.Reply(tools=(fake.Use("list_dir", {}),))
        return fake.Reply("It counts.")

    return answer


@asynccontextmanager
async def running(home: Path, wire: str, base_url: str) -> AsyncIterator[Runtime]:
    """The standard set as it is installed."""
    home.mkdir()
    (home.parent / "work").mkdir()
    config = {
        "model": MODELS[wire],
        "providers": {wire: {"base_url": base_url, "api_key": "test"}},
        "workspace": str(home.parent / "work"),
    }
    (home / "config.yaml").write_text(yaml.safe_dump(config), "utf-8")
    async with Runtime(load(home, {}), home) as runtime:
        yield runtime


async def converse(home: Path, wire: str, base_url: str) -> None:
    async with running(home, wire, base_url) as runtime:
        for number in range(TURNS):
            text = f"What does the service do in step {number}?"
            inbound = Inbound("terminal", "default", "me", f"m{number}", text, session_id="s")
            submission = await runtime.dispatcher.submit(inbound, "yes")
            await submission.mark_delivered()
            assert submission.turn.reply == "It counts."
            await runtime.finish_background(30.0)


@pytest.fixture(scope="module", params=list(MODELS))
def sent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """All requests of a conversation of twelve turns, on either wire."""
    wire, home = request.param, tmp_path_factory.mktemp(request.param) / "home"
    fake, server = {
        "anthropic": (anthropic_server, anthropic_server.AnthropicServer),
        "openai": (openai_server, openai_server.OpenAIServer),
    }[wire]
    with server(script(fake)) as serving:
        asyncio.run(converse(home, wire, serving.base_url))
        return list(serving.requests)


def request_for(sent: list[Any], wanted: str) -> Any:
    (found,) = [one for one in sent if purpose(one) == wanted]
    return found


def to_the_last_message(request: Any) -> bytes:
    """A request's bytes up to the end of its last message, without the markers, which move."""
    raw = _MARKER.sub(b"", request.raw)
    assert raw.endswith(b"}]}")
    return raw[:-2]


@pytest.mark.slow
def test_title_and_review_take_one_request_each(sent: list[Any]) -> None:
    assert [purpose(one) for one in sent] == ALL


@pytest.mark.slow
def test_review_request_starts_with_the_bytes_of_the_session(sent: list[Any]) -> None:
    turn, review = sent[ALL.index("review") - 1 :][:2]
    assert to_the_last_message(review).startswith(to_the_last_message(turn))
    assert len(review.json["messages"]) == len(turn.json["messages"]) + 2


@pytest.mark.long
def test_background_requests_do_not_change_session_requests(sent: list[Any]) -> None:
    turns = [to_the_last_message(one) for one in sent if purpose(one) == "main"]
    for before, after in pairwise(turns):
        assert after.startswith(before)


@pytest.mark.long
def test_system_prompt_and_tools_stay_within_the_token_limit(sent: list[Any]) -> None:
    body = sent[0].json
    system = body.get("system") or body["messages"][0]
    tools = json.dumps(body["tools"], separators=(",", ":"))
    assert (len(tools) + len(json.dumps(system))) // 4 <= STABLE
    assert '"default"' not in tools


def test_auxiliary_calls_add_few_tokens(sent: list[Any]) -> None:
    turn, review = sent[ALL.index("review") - 1 :][:2]
    added = {name: len(request_for(sent, name).raw) // 4 for name in ("title", "portrait")}
    added["review"] = (len(to_the_last_message(review)) - len(to_the_last_message(turn))) // 4
    assert all(tokens <= MOST[name] for name, tokens in added.items()), added
    assert not any(request_for(sent, name).json.get("tools") for name in ("title", "portrait"))


def test_review_reads_the_session_cache_and_writes_none(sent: list[Any]) -> None:
    turn, review, after = (sent[ALL.index("review") + n] for n in (-1, 0, 2))
    if not getattr(turn, "usage", None):
        assert review.json["prompt_cache_key"] == turn.json["prompt_cache_key"]
        return
    assert review.usage["cache_read_input_tokens"] == sum(turn.usage[name] for name in INPUT)
    assert review.usage["cache_creation_input_tokens"] == 0
    assert after.usage["cache_read_input_tokens"] == review.usage["cache_read_input_tokens"]
    for name in ("title", "portrait"):
        assert b"cache_control" not in request_for(sent, name).raw
