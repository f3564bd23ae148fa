"""``ScriptedModel`` records requests to the byte for assertions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import ScriptedModel, calls
from hookline_hookspecs import Context, NoConfig, Plugin, WireRequest, hookimpl, tool

Make = Callable[..., Any]


class Greeter(Plugin[NoConfig]):
    @tool(read_only=True)
    def greet(self, name: str) -> str:
        """Greet a person by ñame."""
        return f"Hello, {name}!"


class Seeds(Plugin[NoConfig]):
    @hookimpl
    def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest:
        return replace(wire, fields={**wire.fields, "seed": 7})


def test_model_bodies_hold_the_whole_request(harness: Make) -> None:
    h = harness(Greeter, Seeds, model=[[calls("greet", name="Bö")], "done"])
    h.send("Grüß Bö")
    assert len(h.model.bodies) == 2
    sent = json.loads(h.model.bodies[1])
    assert (sent["model"], sent["seed"]) == ("test/model", 7)
    assert sent["system"] == h.model.requests[1].system
    assert sent["tools"][0]["description"] == "Greet a person by ñame."
    assert sent["tools"][0]["parameters"]["required"] == ["name"]
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    assert b"Hello, B\xc3\xb6!" in h.model.bodies[1]


def test_changed_tool_changes_the_stable_tools_bytes(harness: Make) -> None:
    class Other(Plugin[NoConfig]):
        @tool(read_only=True)
        def greet(self, name: str, loudly: bool = False) -> str:
            """Greet a person by ñame."""
            return name

    sent = []
    for kind in (Greeter, Other):
        h = harness(kind, model=["done"])
        h.send("hello")
        sent.append(h.model.wires[0].stable["tools"])
    assert b"loudly" in sent[1]
    assert b"loudly" not in sent[0]


def test_equal_requests_have_equal_bytes(harness: Make, tmp_path: Any) -> None:
    bodies = []
    for number in range(2):
        h = harness(Greeter, model=["a"], home=tmp_path / str(number), workspace=tmp_path / "w")
        h.send("hello")
        bodies += h.model.bodies
    assert bodies[0] == bodies[1]


async def test_parallel_sessions_get_answers_to_their_own_requests(harness: Make) -> None:
    def echo(request: Any) -> str:
        return f"you said {request.messages[-1].text}"

    h = harness(Greeter, model=[echo] * 8)
    await h.aopen()
    texts = [f"word {number}" for number in range(8)]
    outcomes = await asyncio.gather(*[h.asend(text, session=text) for text in texts])
    assert [outcome.text for outcome in outcomes] == [f"you said {text}" for text in texts]


def test_request_past_the_script_fails_with_a_sentence(harness: Make) -> None:
    h = harness(Greeter, model=ScriptedModel())
    with pytest.raises(AssertionError, match="has no answer left; add another step"):
        h.send("hello")
