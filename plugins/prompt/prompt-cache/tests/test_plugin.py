"""The plugin in a session: pauses, limits and reports."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import Harness, ScriptedModel, calls
from hookline_hookspecs import (
    BadRequest,
    Context,
    ContextBlock,
    Fragment,
    Inbound,
    Marker,
    ModelRequest,
    Plugin,
    Section,
    Session,
    WireRequest,
    hookimpl,
    tool,
)
from hookline_prompt_cache import PromptCache

from .conftest import MarkedModel

Wait = Callable[[float], None]
MakeHarness = Callable[..., Harness]


class Long(Plugin[Any]):
    """Makes the stable tier long enough to be cached."""

    @hookimpl
    def system_prompt(self, ctx: Context, session: Session) -> Section:
        return Section("guidance", "Be brief. " * 600)


def talk(
    harness: MakeHarness,
    *plugins: type[Plugin[Any]],
    config: dict[str, Any] | None = None,
    **more: Any,
) -> Harness:
    model = more.pop("model", None) or MarkedModel(["ok"] * 20)
    settings = {"prompt-cache": config or {}}
    return harness(PromptCache, Long, *plugins, config=settings, model=model, **more)


def ttls(h: Harness) -> list[set[str]]:
    """The TTLs of each request's markers."""
    return [{marker.ttl for marker in wire.markers} for wire in h.model.wires]


def test_session_without_pauses_is_cached_for_five_minutes(harness: MakeHarness) -> None:
    h = talk(harness)
    for _ in range(4):
        h.send("go on")
    assert ttls(h) == [{"5m"}] * 4
    assert [wire.ttl for wire in h.model.wires] == [300.0] * 4


def test_pauses_of_minutes_are_cached_for_an_hour(harness: MakeHarness, wait: Wait) -> None:
    h = talk(harness)
    for _ in range(3):
        h.send("go on")
        wait(400)
    assert ttls(h) == [{"5m"}, {"1h"}, {"1h"}]
    assert [wire.ttl for wire in h.model.wires] == [300.0, 3600.0, 3600.0]


def test_pauses_are_remembered_across_processes(harness: MakeHarness, wait: Wait) -> None:
    first = talk(harness)
    for _ in range(2):
        first.send("go on")
        wait(400)
    first.close()
    again = talk(harness, home=first.home)
    again.send("go on")
    assert ttls(again) == [{"1h"}]


@pytest.mark.parametrize(("pause", "kept"), [(400, "1h"), (10, "5m")])
def test_new_session_starts_with_pauses_of_an_earlier_process(
    harness: MakeHarness, wait: Wait, pause: float, kept: str
) -> None:
    first = talk(harness)
    for _ in range(4):
        first.send("go on", session="before")
        wait(pause)
    first.close()
    again = talk(harness, home=first.home)
    again.send("go on", session="new")
    again.send("go on", session="newer")
    assert ttls(again) == [{kept}, {kept}]


def test_new_session_starts_with_pauses_of_the_chats_last_one(
    harness: MakeHarness, wait: Wait
) -> None:
    h = talk(harness)
    for session, pauses in (("slow", (400, 400, 400)), ("next", (0, 0, 0)), ("last", (0,))):
        for pause in pauses:
            h.send("go on", session=session)
            wait(pause)

    async def elsewhere() -> None:
        asked = Inbound("terminal", "another", "user", "m1", "hello", session_id="elsewhere")
        await (await h.runtime.dispatcher.submit(asked, "no")).mark_delivered()

    h.send("go on", session="slow")
    h.run(elsewhere())
    slow, following = [{"5m"}, {"1h"}, {"1h"}], [{"1h"}, {"1h"}, {"5m"}]
    last, resumed, another_chat = {"5m"}, {"1h"}, {"5m"}
    assert ttls(h) == [*slow, *following, last, resumed, another_chat]


@pytest.mark.parametrize("turns", [1, 2])
def test_sessions_that_end_at_once_are_not_cached_for_an_hour(
    harness: MakeHarness, wait: Wait, turns: int
) -> None:
    h = talk(harness)
    for number in range(4):
        for _ in range(turns):
            h.send("go on", session=str(number))
            wait(10)
        wait(400)
    assert ttls(h) == [{"5m"}] * 4 * turns


def calling(number: int) -> Any:
    """A model of so many turns, each with a tool call before its answer."""
    return MarkedModel([one for _ in range(number) for one in (calls("look"), "ok")])


class Looks(Plugin[Any]):
    """Has a tool."""

    @tool(read_only=True)
    def look(self) -> str:
        """Look."""
        return "seen"


@pytest.mark.parametrize(
    ("pauses", "loop"), [((400,) * 5, "1h"), ((4000, 4000, 4000, 2000, 2000), "5m")]
)
def test_tool_loop_is_cached_for_an_hour_if_the_next_message_will_read_it(
    harness: MakeHarness, wait: Wait, pauses: tuple[int, ...], loop: str
) -> None:
    h = harness(PromptCache, Looks, model=calling(6))
    h.send("word " * 1200)
    for pause in pauses:
        wait(pause)
        h.send("go on")
    question, answer = h.model.wires[-2:]
    assert question.markers[-1].ttl == "1h"
    assert answer.markers[-1].ttl == loop


def test_pauses_longer_than_an_hour_are_not_paid_for(harness: MakeHarness, wait: Wait) -> None:
    h = talk(harness)
    for _ in range(3):
        h.send("go on")
        wait(2 * 3600)
    assert ttls(h) == [{"5m"}] * 3


def test_one_pause_among_many_messages_changes_nothing(harness: MakeHarness, wait: Wait) -> None:
    h = talk(harness)
    for pause in (0, 0, 400, 0):
        wait(pause)
        h.send("go on")
    assert ttls(h) == [{"5m"}] * 4


def test_context_blocks_are_replayed_while_the_history_is_cached(
    harness: MakeHarness, wait: Wait
) -> None:
    class Hint(Plugin[Any]):
        @hookimpl
        def pre_prompt(self, ctx: Context, turn: Any) -> Any:
            return ContextBlock("hint", f"seen in turn {turn.inbound.text}")

    h = talk(harness, Hint)
    for number in range(3):
        h.send(str(number))
        wait(400)
    sent = b"".join(h.model.wires[-1].fragments)
    assert b"seen in turn 1" in sent  # kept for an hour
    assert b"seen in turn 0" not in sent  # kept for five minutes, before a pause was known


@pytest.mark.parametrize(("ttl", "seconds"), [("5m", 300.0), ("1h", 3600.0)])
def test_ttl_can_be_fixed(harness: MakeHarness, wait: Wait, ttl: str, seconds: float) -> None:
    h = talk(harness, config={"ttl": ttl})
    for _ in range(3):
        h.send("go on")
        wait(400)
    assert ttls(h) == [{ttl}] * 3
    assert {wire.ttl for wire in h.model.wires} == {seconds}


@pytest.mark.parametrize("config", [{"enabled": False}, {"markers": False}])
def test_markers_can_be_switched_off(harness: MakeHarness, config: dict[str, Any]) -> None:
    h = talk(harness, config=config)
    h.send("go on")
    assert ttls(h) == [set()]


def test_prefix_that_the_model_does_not_cache_is_not_marked(harness: MakeHarness) -> None:
    h = harness(PromptCache, model=MarkedModel(["ok", "ok"]))
    h.send("short")
    h.send("word " * 1200)
    assert ttls(h) == [set(), {"5m"}]


def test_smallest_prefix_can_be_configured(harness: MakeHarness) -> None:
    h = talk(harness, config={"smallest_prefix": 100_000})
    h.send("go on")
    assert ttls(h) == [set()]


def test_token_counts_of_the_provider_correct_the_estimate(harness: MakeHarness) -> None:
    """Some 4,000 bytes are 1,000 tokens by the rule, and 4,000 by this provider's count."""

    class Dense(MarkedModel):
        async def send(self, wire: WireRequest, on_delta: Any) -> Any:
            response = await super().send(wire, on_delta)
            return replace(response, usage=replace(response.usage, input=len(wire.fragments[0])))

    h = harness(PromptCache, model=Dense(["ok", "ok"]))
    h.send("x" * 2800)
    h.send("go on")
    assert ttls(h) == [set(), {"5m"}]


def test_auxiliary_request_is_not_cached(harness: MakeHarness) -> None:
    class Asks(Plugin[Any]):
        @hookimpl
        async def pre_prompt(self, ctx: Context, turn: Any) -> None:
            await ctx.host.ask_model("word " * 2000, system="Summarise.")

    h = talk(harness, Asks)
    h.send("go on")
    assert [request.purpose for request in h.model.requests] == ["auxiliary", "turn"]
    assert ttls(h) == [set(), {"5m"}]


def test_copy_of_a_session_reads_its_cache_and_writes_if_continued(harness: MakeHarness) -> None:
    h = talk(harness, Looks, model=MarkedModel(["ok", calls("look"), "nothing"]))
    h.send("go on")
    h.run(h.plugin(Looks).host.fork("test", "What was that?"))
    turn, first, second = h.model.wires
    assert first.fragments[: len(turn.fragments)] == turn.fragments
    assert first.markers[-1] == turn.markers[-1]  # where the session's own request has ended
    assert second.markers[-1].fragment == len(second.fragments) - 1


def test_copy_of_a_cold_session_writes_if_continued(harness: MakeHarness, wait: Wait) -> None:
    h = talk(harness, Looks, model=MarkedModel(["ok", calls("look"), "nothing"]))
    h.send("go on")
    wait(4000)
    h.run(h.plugin(Looks).host.fork("test", "What was that?"))
    _, first, second = h.model.wires
    assert [marker.fragment for marker in first.markers] == ["system"]
    assert second.markers[-1].fragment == len(second.fragments) - 1


def test_markers_of_other_plugins_are_kept(harness: MakeHarness) -> None:
    class Marks(Plugin[Any]):
        @hookimpl(tryfirst=True)
        def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest:
            return replace(wire, markers=(Marker("system", 0, "1h"),))

    h = talk(harness, Marks)
    h.send("go on")
    assert h.model.wires[0].markers == (Marker("system", 0, "1h"), Marker(0, 0, "5m"))
    assert h.model.wires[0].ttl == 3600.0


class Breaks(Plugin[Any]):
    """Changes what was sent, each time anew."""

    @hookimpl
    def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest:
        old = wire.fragments[0]
        assert isinstance(old, Fragment)
        changed = Fragment(old.replace(b"hello", b"%05d" % len(wire.fragments)), old.cuts)
        return replace(wire, fragments=(changed, *wire.fragments[1:]))


def test_plugin_that_breaks_the_prefix_is_named_once(
    harness: MakeHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hookline.plugin.prompt-cache")
    h = talk(harness, Breaks)
    outcomes = [h.send("hello") for _ in range(3)]
    told = [notice for one in outcomes for notice in one.notices if notice.plugin == "prompt-cache"]
    assert len(told) == 1
    assert "Plugin breaks changed what was sent before (history, message 1" in told[0].text
    assert "prefix broken: history, message 1" in caplog.text
    h.close()
    again = talk(harness, Breaks, home=h.home)
    assert not [one for one in again.send("hello").notices if one.plugin == "prompt-cache"]


def test_totals_of_a_turn_are_stored(harness: MakeHarness) -> None:
    h = talk(harness)
    usage = h.send("hello").usage
    h.close()  # what waits is written
    again = talk(harness, home=h.home)
    rows = again.run(
        again.plugin(PromptCache).host.storage.fetch("recent_costs", session_id="test", most=5)
    )
    assert [
        (row["requests"], row["input"], row["cache_read"], row["cache_write"], row["fresh"])
        for row in rows
    ] == [(1, usage.input, usage.cache_read, usage.cache_write, usage.fresh)]
    assert rows[0]["input_cost"] == pytest.approx(usage.input_cost)


def test_turn_does_not_wait_for_writes(
    harness: MakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_hookspecs.caching.deferred_writes.MAX_DELAY_SECONDS", 1000.0)
    h = talk(harness)
    h.send("hello")
    written: list[object] = []
    storage = type(h.plugin(PromptCache).host.storage)
    transact = storage.transact

    async def counted(self: Any, work: Any) -> Any:
        written.append(work)
        return await transact(self, work)

    monkeypatch.setattr(storage, "transact", counted)
    for _ in range(5):
        h.send("more")
    assert len(written) <= 1  # the thousand seconds may be over just now, for all that waits
    h.close()
    assert written


# The OpenAI wire, which has no markers


class Plain(ScriptedModel):
    """A provider of a known name whose wire has no places for markers."""

    def __init__(self, steps: Any, provider: str) -> None:
        super().__init__(steps)
        self._provider = provider

    def render(self, request: ModelRequest) -> WireRequest:
        return replace(super().render(request), provider=self._provider, ttl=600.0)


def keys(h: Harness) -> list[Any]:
    return [wire.fields.get("prompt_cache_key") for wire in h.model.wires]


def test_cache_key_is_stable_on_the_openai_wire(harness: MakeHarness) -> None:
    h = talk(harness, model=Plain(["ok"] * 3, "openai"))
    h.send("one")
    h.send("two")
    h.send("three", session="another")
    first, second, third = keys(h)
    assert first == second == third  # one chat, one stable prompt
    assert 0 < len(first) <= 64
    assert {wire.ttl for wire in h.model.wires} == {600.0}
    assert not any(wire.markers for wire in h.model.wires)


@pytest.mark.parametrize(
    ("provider", "setting", "sent"),
    [
        ("openai", "never", False),
        ("somewhere", "auto", False),
        ("somewhere", "always", True),
        ("deepseek", "auto", True),
    ],
)
def test_cache_key_is_sent_to_known_providers(
    harness: MakeHarness, provider: str, setting: str, sent: bool
) -> None:
    h = talk(harness, config={"cache_key": setting}, model=Plain(["ok"], provider))
    h.send("one")
    assert [key is not None for key in keys(h)] == [sent]


def test_refused_cache_key_is_left_out_on_retry(harness: MakeHarness) -> None:
    refusal = BadRequest("openai: Unknown parameter: 'prompt_cache_key'.")
    h = talk(harness, model=Plain([refusal, "ok", "ok"], "openai"))
    assert h.send("one").text == "ok"
    h.send("two")
    assert [key is not None for key in keys(h)] == [True, False, False]
    h.close()
    again = talk(harness, model=Plain(["ok"], "openai"), home=h.home)
    again.send("three")
    assert keys(again) == [None]
