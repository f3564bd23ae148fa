"""A context serves its session: auxiliary model, read and learn guards, context window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    Context,
    Delta,
    Excerpt,
    Fragment,
    Host,
    Lesson,
    ModelRequest,
    Plugin,
    Refused,
    Section,
    Session,
    Turn,
    WireRequest,
    command,
    hookimpl,
    tool,
)
from hookline_inspect import Inspect

Make = Callable[..., Any]


class Gates(Plugin):
    """Records the session of each text, and refuses marked ones."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[tuple[str, str, str]] = []

    @hookimpl
    def pre_read(self, ctx: Context, excerpt: Excerpt) -> None:
        self.seen.append(("read", excerpt.kind, ctx.session.id))

    @hookimpl
    def pre_learn(self, ctx: Context, lesson: Lesson) -> None:
        self.seen.append(("learn", lesson.kind, ctx.session.id))
        if "secret" in lesson.text:
            raise Refused("secrets are not remembered")

    @hookimpl
    def pre_model(self, ctx: Context, request: ModelRequest) -> None:
        self.seen.append((request.purpose, request.model, ctx.session.id))


class Asking(Plugin):
    """Uses its context outside a turn: in a command and for the stable prompt."""

    @command("/summarise")
    async def summarise(self, ctx: Context, args: str) -> str:
        """Ask the auxiliary model."""
        return await ctx.ask_model(args)

    @command("/keep")
    async def keep(self, ctx: Context, args: str) -> str:
        """Remember something."""
        try:
            return await ctx.learn(await ctx.read(args, "notes.md"), "a command", "note")
        except Refused as error:
            return f"refused: {error}"

    @command("/room")
    def room(self, ctx: Context, args: str) -> str:
        """The window of the session's model."""
        return str(ctx.window(args or None))

    @hookimpl
    async def system_prompt(self, ctx: Context, session: Session) -> Section:
        return Section("memory", await ctx.read("kept", "MEMORY.md", "memory"))


@pytest.fixture
def h(harness: Make) -> Any:
    return harness(Inspect, Gates, Asking, model=["hello", "in short", "again"], strict=False)


def test_command_uses_the_session_model_and_its_usage_counts(h: Any) -> None:
    h.send("hello")
    h.runtime.engine.providers.add("other", h.model)
    h.send("/model other/small")
    assert h.send("/summarise all of it").text == "in short"
    assert h.model.last.model == "other/small"
    used = h.send("/usage").text
    assert "auxiliary" in used


def test_read_and_learn_guards_see_the_session(h: Any) -> None:
    h.send("hello")
    session = h.send("/keep tea at five").turn.session.id
    assert ("read", "memory", session) in h.plugin(Gates).seen
    assert ("read", "file", session) in h.plugin(Gates).seen
    assert ("learn", "note", session) in h.plugin(Gates).seen


def test_gate_refusal_reaches_the_caller_with_its_reason(h: Any) -> None:
    h.send("hello")
    assert h.send("/keep the secret").text.startswith("refused: ")


def test_context_window_is_of_the_session_or_named_model(h: Any) -> None:
    h.send("hello")
    assert h.send("/room").text == "128000"
    named = h.send("/room anthropic/claude-sonnet-4-5").text
    h.send("/model anthropic/claude-sonnet-4-5")
    assert h.send("/room").text == named != "128000"


def test_background_learn_names_its_session(h: Any) -> None:
    h.send("hello")
    host = h.plugin(Asking).host
    h.run(host.learn("tea at five", "a job", "note", session_id="test"))
    assert h.plugin(Gates).seen[-1] == ("learn", "note", "test")
    with pytest.raises(LookupError, match="unknown session nowhere"):
        h.run(host.learn("tea at five", "a job", "note", session_id="nowhere"))


class Wires(Plugin):
    """Records the purpose and roles of each wire request."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[tuple[str, list[str]]] = []

    @tool(read_only=True)
    def look(self) -> str:
        """Look."""
        return "seen"

    @hookimpl
    def pre_send(self, ctx: Context, wire: WireRequest) -> None:
        roles = [part.role for part in wire.fragments if isinstance(part, Fragment)]
        self.seen.append((wire.purpose, roles))


def test_wire_request_has_purpose_and_message_roles(harness: Make) -> None:
    h = harness(Wires, Asking, model=[calls("look"), "done", "in short"], strict=False)
    h.send("hello")
    h.send("/summarise it")
    assert h.plugin(Wires).seen == [
        ("turn", ["user"]),
        ("turn", ["user", "assistant", "tool"]),
        ("auxiliary", ["user"]),
    ]


class Listening(Plugin):
    """Asks the auxiliary model in a turn, after it and in a command; records waits."""

    @hookimpl
    def setup(self, host: Host) -> None:
        self.heard: list[str] = []
        host.signals.connect("delta", self.hear)

    def hear(self, delta: Delta, ctx: Any = None) -> None:
        self.heard.append(delta.text)

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> None:
        await ctx.ask_model("in the turn")

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        await ctx.ask_model("after the turn")

    @command("/ask")
    async def ask(self, ctx: Context, args: str) -> str:
        """Ask."""
        return await ctx.ask_model("in a command")


def test_auxiliary_model_wait_is_shown_only_where_a_person_waits(harness: Make) -> None:
    h = harness(Listening, model=["aside", "answer", "title"])
    send = h.model.send

    async def slow(wire: WireRequest, on_delta: Any) -> Any:
        if on_delta is not None:
            on_delta(Delta(f"{wire.purpose} waits", "waiting"))
        return await send(wire, on_delta)

    h.model.send = slow  # type: ignore[method-assign]
    h.send("hello")
    ear = h.plugin(Listening)
    assert ear.heard == ["auxiliary waits", "turn waits", "answer"]
    ear.heard.clear()
    h.model.steps.append("aside")
    assert h.send("/ask").text == "aside"
    assert ear.heard == ["auxiliary waits"]
