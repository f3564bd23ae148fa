"""``assert_prompt_stable`` accepts cacheable requests and names what breaks the prefix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import assert_prompt_stable, calls
from hookline_hookspecs import (
    Context,
    Message,
    ModelRequest,
    NoConfig,
    Plugin,
    Turn,
    WireRequest,
    hookimpl,
    tool,
)

Make = Callable[..., Any]


class Greeter(Plugin[NoConfig]):
    @tool(read_only=True)
    def greet(self, name: str) -> str:
        """Greet a person."""
        return f"Hello, {name}!"


class Summarises(Plugin[NoConfig]):
    """Sends a model request of its own after each turn."""

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        await self.host.ask_model("What was it about?", system="Other words than the session's.")


class Forgets(Plugin[NoConfig]):
    """Rewrites the first message on the wire once there are three."""

    @hookimpl
    def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest | None:
        if len(wire.fragments) < 3:
            return None
        return replace(wire, fragments=(b'"gone"', *wire.fragments[1:]))


class Trims(Plugin[NoConfig]):
    """Rewrites the first message before it is rendered once there are three."""

    @hookimpl
    def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        if len(request.messages) < 3:
            return None
        return replace(request, messages=(Message.user("gone"), *request.messages[1:]))


def wire(*fragments: bytes, **options: Any) -> WireRequest:
    stable = {"system": b'"You are it."', "tools": b'[{"name": "look"}]'}
    return WireRequest("test", {}, fragments, stable=stable, session_id="s", **options)


def test_prefix_check_accepts_tools_and_background_requests(harness: Make) -> None:
    script = [[calls("greet", name="Bo")], "a", "about Bo", "b", "about b"]
    h = harness(Greeter, Summarises, model=script)
    h.send("one")
    h.send("two")
    assert {request.purpose for request in h.model.requests} == {"turn", "auxiliary"}
    assert_prompt_stable(h)


@pytest.mark.parametrize("culprit", [Forgets, Trims])
def test_prefix_check_names_the_plugin_that_rewrote_a_message(harness: Make, culprit: Any) -> None:
    h = harness(Greeter, culprit, model=["a", "b"])
    h.send("first words")
    h.send("second words")
    name = culprit.__name__.lower()
    sentence = (
        rf"request 2 of session \S+ to test/model .* in the history tier message 1 differs from "
        rf"byte \d+ on; plugin {name} changed it\. Before: `.*`\. Now: `.*gone"
    )
    with pytest.raises(AssertionError, match=sentence):
        assert_prompt_stable(h)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            [wire(b"1")],
            replace(wire(b"1", b"2"), stable={"system": b'"You are me."', "tools": b"[]"}),
            r"in the stable tier the system part differs from byte 9 on\. Before: .* Now: .*me",
        ),
        (
            [wire(b"1")],
            replace(wire(b"1", b"2"), stable={"system": b'"You are it."', "tools": b"[]"}),
            r"the tools part differs from byte 1 on\..*put what depends on the moment",
        ),
        (
            [wire(b"1"), wire(b"1", b"same", b"3")],
            wire(b"1", b"sane", b"3", b"4"),
            r"request 3 of .* message 2 differs from byte 2 on\. Before: `same`\. Now: `sane`",
        ),
        (
            [wire(b"1", b"2", b"3")],
            wire(b"1", b"2"),
            r"message 3 differs from byte 0 on\. Before: `3`\. Now: nothing\.",
        ),
    ],
)
def test_prefix_check_reports_the_first_differing_byte(
    before: list[WireRequest], after: WireRequest, sentence: str
) -> None:
    with pytest.raises(AssertionError, match=sentence):
        assert_prompt_stable([*before, after])


def test_prefix_check_shows_long_messages_around_the_difference() -> None:
    same = b"x" * 500
    with pytest.raises(AssertionError, match=r"byte 500 on\. Before: `…x{24}old`\. Now") as caught:
        assert_prompt_stable([wire(same + b"old"), wire(same + b"new" * 900)])
    assert len(str(caught.value)) < 600


def test_prefix_check_compares_within_session_and_model() -> None:
    other = replace(wire(b"other"), session_id="t")
    elsewhere = replace(wire(b"elsewhere"), model="other/model")
    assert_prompt_stable([wire(b"1"), other, elsewhere, wire(b"1", b"2")])


def test_prefix_check_lets_markers_move() -> None:
    from hookline_hookspecs import Marker

    first = wire(b"1", markers=(Marker(0),))
    assert_prompt_stable([first, wire(b"1", b"2", markers=(Marker(1),))])


@pytest.mark.parametrize("wires", [[], [wire(b"1")], [wire(b"1"), wire(b"1", model="m")]])
def test_prefix_check_fails_without_requests_to_compare(wires: list[WireRequest]) -> None:
    with pytest.raises(AssertionError, match="send a second message in the same session"):
        assert_prompt_stable(wires)
