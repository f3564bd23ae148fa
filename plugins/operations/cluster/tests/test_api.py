"""The API of a cluster: workers run the turns of a gateway's API clients."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI
from support.openai_server import OpenAIServer

from .conftest import PATIENCE, Cluster
from .pages import COUNT, address, configure, model_says, start

pytestmark = pytest.mark.slow


@pytest.fixture
def api(cluster: Cluster) -> Iterator[tuple[Cluster, OpenAI]]:
    """A gateway, a worker, and OpenAI's client with a key."""
    with OpenAIServer(model_says) as model:
        configure(cluster, model)
        start(cluster, "g1", "w1")
        code, out, err = cluster.run("g1", "api", "keys", "add", "ann", "--json")
        assert code == 0, err
        url = f"{address(cluster, 'g1')}/v1"
        key = json.loads(out)["key"]
        with OpenAI(api_key=key, base_url=url, max_retries=0, timeout=PATIENCE) as client:
            yield cluster, client
        cluster.close()


def chat(text: str) -> dict[str, Any]:
    return {"model": "hookline", "messages": [{"role": "user", "content": text}]}


def test_stream_sends_words_while_worker_writes(api: tuple[Cluster, OpenAI]) -> None:
    _, client = api
    chunks, times = [], []
    options: Any = {"stream_options": {"include_usage": True}}
    for chunk in client.chat.completions.create(**chat("count"), stream=True, **options):
        chunks.append(chunk)
        if chunk.choices and chunk.choices[0].delta.content:
            times.append(time.monotonic())
    words = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert words == COUNT
    assert len(times) > 5
    assert times[-1] - times[0] > 2
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0


def test_completion_without_stream_works_repeatedly(api: tuple[Cluster, OpenAI]) -> None:
    _, client = api
    for _ in range(2):
        told = client.chat.completions.create(**chat("look"))
        assert told.choices[0].message.content == "finished"
        assert told.usage is not None
        assert told.usage.completion_tokens > 0


def test_response_contains_tool_calls(api: tuple[Cluster, OpenAI]) -> None:
    _, client = api
    with client.responses.stream(model="hookline", input="look") as stream:
        events = list(stream)
    text = repr(events)
    assert "echo seen" in text
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text.endswith("finished")


def test_disconnected_client_stops_turn(api: tuple[Cluster, OpenAI]) -> None:
    cluster, client = api
    stream = client.chat.completions.create(**chat("count"), stream=True)
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    stream.close()
    left = time.monotonic()
    cluster.wait(lambda: cluster.status("g1")["open"] == 0)
    assert time.monotonic() - left < 5


def test_stream_continues_after_worker_kill(api: tuple[Cluster, OpenAI]) -> None:
    cluster, client = api
    words = ""
    for chunk in client.chat.completions.create(**chat("count"), stream=True):
        before, words = words, words + (chunk.choices[0].delta.content or "")
        if len(before) <= 100 < len(words):
            start(cluster, "w2")
            cluster.machines["w1"].end(signal.SIGKILL)
    assert words == COUNT


def test_call_without_approver_is_refused(api: tuple[Cluster, OpenAI]) -> None:
    _, client = api
    told = client.chat.completions.create(**chat("launch"))
    assert told.choices[0].message.content == "finished"


def test_request_retried_at_another_gateway_gets_same_reply(api: tuple[Cluster, OpenAI]) -> None:
    cluster, client = api
    start(cluster, "g2")
    again: Any = {"stream": True, "extra_headers": {"Idempotency-Key": "one"}}
    stream = client.chat.completions.create(**chat("count"), **again)
    assert any(chunk.choices[0].delta.content for chunk in stream)
    cluster.machines["g1"].end(signal.SIGKILL)
    stream.close()
    cluster.machines["g2"].wait_until_said("this gateway now owns channel api")
    there = client.with_options(base_url=f"{address(cluster, 'g2')}/v1")
    chunks = list(there.chat.completions.create(**chat("count"), **again))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == COUNT
    assert len(chunks) > 5
    assert cluster.status("g2")["waiting"] == 0
