"""Cache breakpoints as the server sees them, and their effect."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hookline_anthropic import AnthropicProvider
from hookline_anthropic.body import join_body
from hookline_hookspecs import (
    Marker,
    Message,
    ProviderSettings,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
)
from hypothesis import given
from hypothesis import strategies as st
from support.anthropic_server import PromptCache, Reply, Use, all_blocks

from .conftest import MakeTalk, Talk, request

LONG = "word " * 1200


def marked(talk: Talk) -> dict[str, Any]:
    """The markers of the last request by path."""
    return {
        where: block["cache_control"].get("ttl", "5m")
        for where, block in all_blocks(talk.body)
        if "cache_control" in block
    }


async def test_markers_go_after_tools_system_and_any_block(talk: MakeTalk) -> None:
    t = talk("ok")
    markers = (Marker("tools", ttl="1h"), Marker("system", ttl="1h"), Marker(0, 0), Marker(-1))
    await t.ask(
        Message.user("a", "<context>c</context>"),
        Message.assistant("b"),
        Message.user("d"),
        markers=markers,
    )
    assert marked(t) == {
        "tools.1": "1h",
        "system.0": "1h",
        "messages.0.content.0": "5m",
        "messages.2.content.0": "5m",
    }


async def test_ephemeral_text_carries_no_marker(talk: MakeTalk) -> None:
    t = talk("ok")
    await t.ask(ephemeral="Only now.", markers=(Marker("system"),))
    assert marked(t) == {"system.0": "5m"}


async def test_marker_moves_to_the_nearest_earlier_block_that_can_carry_it(talk: MakeTalk) -> None:
    t = talk(Reply(thinking="Hm.", tools=(Use("look"),)), "ok", "ok", "ok")
    first = await t.ask()
    history = (
        Message.user("hello"),
        first.message,
        Message("user", (ToolResultBlock(first.message.tool_calls[0].id, "r"),)),
    )
    await t.ask(*history, markers=(Marker(1, 0),))
    assert marked(t) == {"messages.0.content.0": "5m"}
    # A fragment that a plugin replaced by plain bytes has no places at all.
    wire = t.provider.render(request(*history))
    plain = (bytes(wire.fragments[0]), *wire.fragments[1:])
    await t.provider.send(replace(wire, fragments=plain, markers=(Marker(1, 0),)), None)
    assert marked(t) == {"system.0": "5m"}
    await t.ask(system="", tools=(), markers=(Marker("system"), Marker("tools")))
    assert marked(t) == {}


async def test_latest_four_markers_are_kept(talk: MakeTalk) -> None:
    t = talk("ok")
    messages = [Message.user(f"{n}") for n in range(6)]
    await t.ask(*messages, markers=tuple(Marker(n) for n in range(6)))
    assert list(marked(t)) == [f"messages.{n}.content.0" for n in range(2, 6)]


async def test_two_markers_on_one_block_are_one(talk: MakeTalk) -> None:
    t = talk("ok")
    await t.ask(markers=(Marker(0, ttl="1h"), Marker(-1)))
    assert marked(t) == {"messages.0.content.0": "1h"}


BARE = Message("assistant", (ThinkingBlock("", redacted="x"), ToolCall("c", "look", {})))
MARKERS = st.builds(
    Marker,
    st.sampled_from(["tools", "system"]) | st.integers(-9, 9),
    st.integers(-5, 5),
    st.sampled_from(["5m", "1h"]),
)


@given(st.lists(MARKERS, max_size=8).map(tuple))
def test_any_set_of_markers_gives_a_valid_body(markers: tuple[Marker, ...]) -> None:
    provider = AnthropicProvider(ProviderSettings("anthropic", None, "k"))
    history = (Message.user("a", "c"), BARE, Message("user", (ToolResultBlock("c", "r"),)))
    wire = provider.render(request(*history))
    with_markers = json.loads(join_body(replace(wire, markers=markers)))
    found = [where for where, block in all_blocks(with_markers) if block.pop("cache_control", 0)]
    assert (len(found) > 0) == (len(markers) > 0)
    assert len(found) <= 4
    assert with_markers == json.loads(join_body(wire))


async def test_next_turn_reads_what_the_last_one_wrote(talk: MakeTalk) -> None:
    t = talk("one", "two", "three", "four")
    markers = (Marker("system"), Marker(-1))
    history = [Message.user(LONG)]
    first = await t.ask(*history, system=LONG, markers=markers)
    assert first.usage.cache_read == 0
    assert first.usage.cache_write == first.usage.input > 2000
    history += [first.message, Message.user("and?")]
    second = await t.ask(*history, system=LONG, markers=markers)
    assert second.usage.cache_read == first.usage.input
    assert second.usage.input == second.usage.cache_read + second.usage.cache_write
    t.server.advance(301)
    third = await t.ask(*history, system=LONG, markers=markers)
    assert third.usage.cache_read == 0
    changed = await t.ask(*history, system=f"{LONG}!", markers=markers)
    assert changed.usage.cache_read < third.usage.input / 2


async def test_one_hour_marker_is_still_cached_after_five_minutes(talk: MakeTalk) -> None:
    t = talk("one", "two")
    markers = (Marker("system", ttl="1h"), Marker(-1))
    await t.ask(Message.user(LONG), system=LONG, markers=markers)
    t.server.advance(1000)
    second = await t.ask(Message.user(LONG), system=LONG, markers=markers)
    assert 0 < second.usage.cache_read < second.usage.input


def test_cache_looks_back_twenty_blocks() -> None:
    # The fake's own model of the cache, on which the planner's tests rest.
    def body(count: int) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": LONG}]
        blocks += [{"type": "text", "text": str(n)} for n in range(count)]
        blocks[-1] = blocks[-1] | {"cache_control": {"type": "ephemeral"}}
        return {"model": "m", "messages": [{"role": "user", "content": blocks}]}

    for more, hits in ((20, True), (21, False)):
        cache = PromptCache()
        cache.use(body(1), 0)
        assert (cache.use(body(1 + more), 0)["cache_read_input_tokens"] > 0) is hits
