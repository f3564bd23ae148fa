"""The two prompt rules (stable tier, append-only), on request bytes of random sessions.

1. System prompt and tool schemas are the same bytes from a session's first request to its last.
2. What was sent is sent again, context blocks included, while the provider still holds it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hookline.testing import Harness, ScriptedModel, calls
from hookline_anthropic import AnthropicProvider
from hookline_anthropic.body import join_body
from hookline_context_refs import ContextRefs
from hookline_hookspecs import (
    Context,
    ContextBlock,
    DeltaSink,
    Message,
    ModelRequest,
    ModelResponse,
    Plugin,
    ProviderSettings,
    Rewrite,
    Section,
    Session,
    Turn,
    WireRequest,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_openai import OpenAIProvider
from hypothesis import given, settings
from hypothesis import strategies as st

WARM = 290.0
"""Seconds after which a prefix may be forgotten: a little under the shortest TTL."""
MARKER = re.compile(rb',"cache_control":\{[^}]*\}')


class Skills(Plugin[NoConfig]):
    """Injects another text at each turn."""

    @hookimpl
    def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock:
        words = turn.inbound.text
        return ContextBlock("skills", items=((words[:8], f"how to <{words}>"),), item_tag="skill")


class Memory(Plugin[NoConfig]):
    """Shows in the prompt what a tool writes to the disk."""

    @tool
    def remember(self, text: str) -> str:
        """Remember a text."""
        with (self.host.home / "notes").open("a") as file:
            file.write(text)
        return "remembered"

    @hookimpl
    def system_prompt(self, ctx: Context, session: Session) -> Section:
        notes = self.host.home / "notes"
        return Section("memory", notes.read_text() if notes.exists() else "nothing yet")


class Shortens(Plugin[NoConfig]):
    """Compacts when a message says so."""

    @hookimpl
    async def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        last = len(ctx.history) - 1
        if ctx.turn.inbound.text != "compact now" or last < 2 or ctx.turn.iterations:
            return None
        short = Message.user("what was before"), Message.assistant("understood")
        return replace(request, messages=await ctx.rewrite([Rewrite(0, last, short)]))


class Clock(Plugin[NoConfig]):
    """Tries to put the time into the system prompt at every request, in two ways."""

    ticks = 0

    @hookimpl
    def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest:
        Clock.ticks += 1
        return replace(request, system=f"{request.system} It is {Clock.ticks}.")

    @hookimpl
    def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest:
        Clock.ticks += 1
        system = wire.stable["system"].replace(b"Hookline", b"Hookline %d" % Clock.ticks)
        return replace(wire, stable={**wire.stable, "system": system})


class Recorded:
    """A real driver's rendering, and a script in place of its network."""

    def __init__(self, driver: Any, script: ScriptedModel, bodies: list[tuple[str, bytes]]) -> None:
        self._driver = driver
        self._script = script
        self._bodies = bodies
        self.name = driver.name
        self.cache_price = driver.cache_price

    def render(self, request: ModelRequest) -> WireRequest:
        self._script.render(request)
        return self._driver.render(request)  # type: ignore[no-any-return]

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        if isinstance(self._driver, AnthropicProvider):
            body = join_body(wire)
        else:
            body = self._driver._dialect.body(wire)
        self._bodies.append((wire.session_id, MARKER.sub(b"", body)))
        return ModelResponse(**(await self._answer(wire)))

    async def _answer(self, wire: WireRequest) -> dict[str, Any]:
        step = self._script.steps.pop(0)
        blocks = self._script._response(step).blocks
        return {"blocks": blocks, "stop": "end"}

    async def aclose(self) -> None:
        """Nothing to close."""


@dataclass
class Story:
    """A home that is opened and closed repeatedly, and every request body sent from it."""

    home: Path
    driver: Any
    plugins: tuple[type[Plugin[Any]], ...]
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    """Where a history may differ from what was sent before: cold, or compacted."""
    offset: float = 0.0
    sent_at: float = 0.0
    core: dict[str, Any] = field(default_factory=dict)
    _open: Harness | None = None

    def send(self, text: str, steps: list[Any]) -> None:
        if self._open is None:
            self._open = Harness(*self.plugins, home=self.home, core=self.core, strict=False)
            self._open.model.steps = []
        h = self._open
        h.run(h.aopen())
        h.runtime.engine.providers.add("test", Recorded(self.driver, h.model, self.bodies))  # type: ignore[arg-type]
        h.model.steps = steps
        if self.offset - self.sent_at > WARM:
            self.may_differ()
        self.sent_at = self.offset
        with patch("hookline.clock._offset", self.offset):
            h.send(text)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def may_differ(self) -> None:
        self.cuts.append(len(self.bodies))


def check(story: Story) -> None:
    """Check both rules on every pair of consecutive requests of a session."""
    for number, (before, after) in enumerate(zip(story.bodies, story.bodies[1:], strict=False), 1):
        if before[0] != after[0]:
            continue
        old, new = (stable_and_history(body) for _, body in (before, after))
        assert old[0] == new[0], f"request {number + 1}: the stable tier has changed"
        if number not in story.cuts:
            assert new[1].startswith(old[1]), f"request {number + 1}: the prefix is broken"


def stable_and_history(body: bytes) -> tuple[bytes, bytes]:
    """Tools and system, and the messages, as they stand in the body."""
    if b'"system":' in body:  # Anthropic: tools, system, messages
        start = min(at for at in (body.find(b'"tools":'), body.find(b'"system":')) if at >= 0)
        cut = body.index(b',"messages":[')
        return body[start:cut], body[cut:-2]
    # OpenAI: tools, then the messages, of which the system prompt is the first.
    start = max(0, body.find(b'"tools":'))
    cut = body.index(b'},{"role":', body.index(b'"messages":['))
    return body[start:cut], body[cut:-2]


def driver(name: str) -> Any:
    kind = {"anthropic": AnthropicProvider, "openai": OpenAIProvider}[name]
    return kind(ProviderSettings("test", "http://localhost:1/v1", "none"))


WORDS = st.text("abc <&>é\n中", min_size=1, max_size=12).filter(str.strip)
OPS = st.one_of(
    st.tuples(st.just("say"), WORDS),
    st.tuples(st.just("refer"), WORDS),
    st.tuples(st.just("remember"), WORDS),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("operator"), WORDS),
    st.tuples(st.just("wait"), st.sampled_from([10.0, 200.0, 700.0, 5000.0, 80000.0])),
    st.tuples(st.just("compact"), st.none()),
)


def play(story: Story, ops: list[tuple[str, Any]]) -> None:
    """Run the story's turns."""
    for op, what in ops:
        if op == "say":
            story.send(what, ["ok"])
        elif op == "refer":
            (story.home / "workspace" / "notes.md").write_text(what)
            story.send(f"see @file:notes.md {what}", ["ok"])
        elif op == "remember":
            story.send(what, [[calls("remember", text=what)], "ok"])
        elif op == "restart":
            story.close()
        elif op == "operator":
            story.close()
            story.core = {"operator_message": what}
        elif op == "wait":
            story.offset += what
        elif op == "compact":
            story.may_differ()
            story.send("compact now", ["ok"])


@contextmanager
def open_story(name: str, plugins: tuple[type[Plugin[Any]], ...]) -> Iterator[Story]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        (home / "workspace").mkdir(parents=True)
        story = Story(home, driver(name), plugins)
        try:
            yield story
        finally:
            story.close()


def assert_rules_hold(name: str, ops: list[tuple[str, Any]]) -> None:
    with open_story(name, (Skills, Memory, Shortens, ContextRefs)) as story:
        story.send("begin", ["ok"])
        play(story, ops)
        check(story)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["anthropic", "openai"])
@settings(max_examples=15)
@given(ops=st.lists(OPS, min_size=2, max_size=9))
def test_prompt_rules_hold_in_any_session(name: str, ops: list[tuple[str, Any]]) -> None:
    assert_rules_hold(name, ops)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["anthropic", "openai"])
@given(ops=st.lists(OPS, min_size=2, max_size=9))
def test_prompt_rules_hold_in_many_sessions(name: str, ops: list[tuple[str, Any]]) -> None:
    assert_rules_hold(name, ops)


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_system_prompt_change_is_reverted_and_names_the_plugin(name: str) -> None:
    with open_story(name, (Skills, Clock)) as story:
        story.send("one", ["ok"])
        story.send("two", ["ok"])
        story.close()
        story.send("three", ["ok"])
        assert story._open is not None
        assert any("clock" in n.text and "not sent" in n.text for n in story._open.notices)
        check(story)
        assert len(story.bodies) == 3


def test_prompt_check_detects_a_broken_prefix() -> None:
    with open_story("anthropic", (Skills,)) as story:
        story.send("the first message", ["ok"])
        story.send("two", ["ok"])
        session, body = story.bodies[1]
        story.bodies[1] = (session, body.replace(b"first message", b"message first"))
        with pytest.raises(AssertionError, match="prefix is broken"):
            check(story)
        story.bodies[1] = (session, body.replace(b"You are", b"Thou art"))
        with pytest.raises(AssertionError, match="stable tier"):
            check(story)
