"""Compaction keeps a conversation valid, however often it runs and whichever process dies.

Generated sessions are stored, taken up, continued and shortened again and again; every request is
rendered by the real drivers and judged by what the servers refuse. And a process that is killed in
the middle of a compaction is followed by one that finishes the turn.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, ScriptedModel, calls
from hookline_anthropic import AnthropicProvider
from hookline_anthropic.body import join_body
from hookline_compaction import Compaction
from hookline_hookspecs import (
    Block,
    ContextTooLong,
    ImageBlock,
    Message,
    ModelRequest,
    Overloaded,
    Plugin,
    ProviderSettings,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
    tool,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_openai import OpenAIProvider
from hookline_openai.dialects import DIALECTS
from hypothesis import given, settings
from hypothesis import strategies as st
from support import anthropic_server, openai_rules
from support.durability.computer import Computer, line_of, paired
from support.durability.model_wires import WORKING, Said, Wire, serving

# --- every request is valid on every wire ------------------------------------------------------

PIXEL = ImageBlock("image/png", "aW1n", origins=())
PIN = re.compile(r"^PIN:", re.MULTILINE)
LARGEST = 2_000
"""Messages of a generated session."""
SMALL = {"threshold_small": 0.05, "message_share": 0.02, "message_share_tight": 0.01}
"""Of 128,000 tokens: shortened at 25,600 characters, cut at 10,240 and 5,120."""


class Tools(Plugin[NoConfig]):
    @tool(read_only=True)
    def look(self, size: int) -> str:
        """Look at something."""
        return "x" * size


class Past:
    """Generates the messages of a session, as core would have stored them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = itertools.count(1)

    def messages(self, most: int) -> list[Message]:
        """Whole turns, up to ``most`` messages."""
        made: list[Message] = []
        while True:
            turn = list(self._turn())
            if len(made) + len(turn) > most:
                return made
            made += turn

    def _turn(self) -> Iterator[Message]:
        chance = self._random.random
        said: list[Block] = [self._said()]
        if chance() < 0.1:
            said.append(PIXEL)
        yield Message("user", tuple(said))
        for _ in range(self._random.choice((0, 0, 1, 2, 5, 40))):
            yield from self._step()
        if chance() < 0.1:
            yield Message.assistant("(pause)")
        if chance() < 0.1:
            yield Message.assistant(self._text("done?"))
            yield Message("user", (self._said(),))
        yield Message.assistant(self._text("done"))

    def _step(self) -> Iterator[Message]:
        chance = self._random.random
        blocks: list[Block] = []
        if chance() < 0.3:
            thought = self._text("thinking")
            blocks.append(ThinkingBlock(thought, anthropic_server.seal(thought)))
        if chance() < 0.5:
            blocks.append(TextBlock(self._text("working")))
        asked = [self._call() for _ in range(self._random.choice((1, 1, 1, 3)))]
        yield Message("assistant", (*blocks, *asked))
        answers: list[Block] = [self._result(call) for call in asked]
        if chance() < 0.1:
            answers.append(self._said())
        yield Message("user", tuple(answers))

    def _call(self) -> ToolCall:
        odd = self._random.choice(("call", "call:odd", "call" * 15))
        name = self._random.choice(("look", "read file", "n" * 90))
        arguments = {"text": "a" * self._size()}
        error = "not JSON" if self._random.random() < 0.05 else None
        return ToolCall(f"{odd}{next(self._count)}", name, arguments, error)

    def _result(self, call: ToolCall) -> ToolResultBlock:
        images = (PIXEL,) if self._random.random() < 0.05 else ()
        text = "" if self._random.random() < 0.05 else "r" * self._size()
        return ToolResultBlock(call.id, text, self._random.random() < 0.9, images)

    def _said(self) -> TextBlock:
        pin = self._random.choice(("PIN: rule ", "please\nPIN: rule "))
        begin = pin if self._random.random() < 0.02 else "word "
        return TextBlock(f"{begin}{next(self._count)}. " + self._text("says"))

    def _text(self, word: str) -> str:
        return f"{word} " * self._random.choice((1, 1, 1, 10, 400))

    def _size(self) -> int:
        return self._random.choice((0, 5, 5, 50, 50, 300, 3_000, 30_000))


class World:
    """A session under compaction: its model answers at random, and checks its requests."""

    def __init__(self, home: Path, seed: int) -> None:
        self._home = home
        self._random = random.Random(seed)
        self._sent: tuple[Message, ...] = ()
        self.must: list[str] = []
        """Texts that each request has to hold."""
        self.shortened = 0
        self.open()

    def open(self) -> None:
        """Another process on the same home."""
        model = ScriptedModel([self._answer] * 10_000)
        config = {"compaction": SMALL}
        self.harness = Harness(Compaction, Tools, home=self._home, model=model, config=config)
        hub = self.harness.runtime.bus.signals
        hub.connect("compacted", self._heard)

    def _heard(self, _event: Any, ctx: Any = None) -> None:
        self.shortened += 1

    def remember(self, messages: list[Message]) -> None:
        """Store messages as those of the session's earlier turns."""
        self.harness.run(self._store(messages))
        self.harness.close()
        self.must += [text for m in messages if m.role == "user" for text in _pins(m)]
        self.open()

    async def _store(self, messages: list[Message]) -> None:
        turns = [
            m.role == "user" and not isinstance(m.blocks[0], ToolResultBlock) for m in messages
        ]
        number, first = 0, len(await self._stored()) + 1
        writes = []
        for seq, (message, begins) in enumerate(zip(messages, turns, strict=True), first):
            number += begins
            writes.append(
                self.harness.runtime.engine.journal.append_message(
                    "test", f"t{number}", seq, message
                )
            )
        for write in writes:
            await write

    async def _stored(self) -> list[Message]:
        return await self.harness.runtime.plugins.host("tools").messages("test")

    def stored(self) -> list[Message]:
        """The messages that search and export see."""
        return self.harness.run(self._stored())

    def say(self, text: str) -> str:
        """A turn; the answer. What it says has to be in every request of the turn."""
        held = len(self.must)
        self.must.append(text)
        answer = self.harness.send(text).text
        del self.must[held if not PIN.search(text) else held + 1 :]
        return answer

    def _answer(self, request: ModelRequest) -> Any:
        chance = self._random.random()
        if request.purpose == "auxiliary":
            good = f"## Goal\n{'s' * self._random.choice((10, 1_000, 6_000))}"
            return good if chance < 0.8 else Overloaded("no") if chance < 0.9 else " "
        self._judge(request)
        if chance < 0.03:
            return ContextTooLong("too long")
        if chance < 0.06:
            self._steer()
        if chance < 0.7:
            return [calls("look", size=self._random.choice((5, 500, 9_000, 50_000)))] * (
                1 + (chance < 0.2)
            )
        return "done"

    def _steer(self) -> None:
        text = f"steering {self._random.random()}"
        state = self.harness.runtime.sessions.loaded("test")
        if state is not None and state.active is not None:
            state.pending.steering.append(TextBlock(text))
            self.harness.model.steps.insert(0, lambda request: self._steered(request, text))

    def _steered(self, request: ModelRequest, text: str) -> Any:
        if request.purpose == "turn":
            self.must.append(text)
        else:
            self.harness.model.steps.insert(0, lambda later: self._steered(later, text))
        return self._answer(request)

    def _judge(self, request: ModelRequest) -> None:
        check_everywhere(request)
        for one, other in itertools.pairwise(request.messages):
            assert one.role != other.role or not _is_stand_in(one) | _is_stand_in(other)
        said = {b.text for m in request.messages for b in m.blocks if isinstance(b, TextBlock)}
        assert [text for text in self.must if text not in said] == []


def _pins(message: Message) -> list[str]:
    texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    return texts if any(PIN.search(text) for text in texts) else []


def _is_stand_in(message: Message) -> bool:
    return message.text.startswith(("[Summary of", "[Go on from", "Understood. I go on"))


def check_everywhere(request: ModelRequest) -> None:
    """Render a request for each wire; whatever the servers refuse is raised."""
    claude = AnthropicProvider(ProviderSettings("anthropic", None, "k"))
    anthropic_server.check_body(json.loads(join_body(claude.render(request))))
    checks = {"chat": openai_rules.check_chat, "responses": openai_rules.check_responses}
    for api, check in checks.items():
        provider = OpenAIProvider(ProviderSettings("openai", None, "k", options={"api": api}))
        check(json.loads(DIALECTS[api].body(provider.render(request))))
    roles = [message.role for message in request.messages]
    assert roles[0] == "user"


SESSIONS = {
    "seed": st.integers(0, 2**32),
    "size": st.sampled_from((0, 3, 10, 40, 200, LARGEST)),
    "says": st.lists(
        st.sampled_from(("on", "PIN: keep to this", "/compact", "restart")), max_size=8
    ),
}


def play(seed: int, size: int, says: list[str]) -> None:
    """A session with a past of ``size`` messages; each request and the store are looked at."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), seed)
        try:
            world.say("begin")
            world.remember(Past(seed).messages(size))
            for number, text in enumerate(["on", *says, "on"]):
                if text == "restart":
                    world.harness.close()
                    world.open()
                else:
                    world.say(text if text.startswith("/") else f"{text} {number}")
        finally:
            world.harness.close()


@pytest.mark.slow
@settings(max_examples=5)
@given(**SESSIONS)
def test_compaction_keeps_requests_valid_and_loses_nothing_pinned(
    seed: int, size: int, says: list[str]
) -> None:
    play(seed, size, says)


@pytest.mark.slow
@settings(max_examples=100)
@given(**SESSIONS)
def test_compaction_keeps_requests_valid_in_many_sessions(
    seed: int, size: int, says: list[str]
) -> None:
    play(seed, size, says)


@pytest.mark.slow
def test_compaction_of_2000_messages_ends_when_nothing_is_left_to_free(tmp_path: Path) -> None:
    world = World(tmp_path, 7)
    try:
        world.say("begin")
        begun = len(world.stored())
        past = Past(7).messages(LARGEST)
        world.remember(past)
        world.say("on")
        assert world.shortened >= 1
        assert world.stored()[begun : begun + len(past)] == past, "the originals stay"
        answers = [world.say("/compact") for _ in range(12)]
        assert answers[-3:] == ["There is nothing to shorten yet."] * 3
        before = world.shortened
        world.say("/compact")
        assert world.shortened == before
    finally:
        world.harness.close()


# --- a process dies in the middle --------------------------------------------------------------

SUMMARY = "## Goal\nTo fill the notebook."
DONE = "Done with the notebook."
NEXT = "Next one answered."
SETTINGS = (
    "plugins: {notebook: true, files: false, shell: false, compaction: {threshold_small: %s}}\n"
)
LONG = "x" * 20_000
ENTRY = "e" * 12_000
WORK = f"work {LONG}"


def script(words: str | None) -> Said:
    """What the model does; it is asked for summaries as well."""
    if words is None:
        return DONE
    if "<conversation>" in words:
        return SUMMARY
    return [("append", {"line": ENTRY})] * 2 if words == WORK else NEXT


@pytest.fixture
def wire(computer: Computer, request: pytest.FixtureRequest) -> Iterator[Wire]:
    with serving(request.param, script) as wire:
        # Its results have to stay as long as they are.
        computer.env |= {**wire.env, "HOOKLINE_PLUGINS__ARTIFACTS": "false"}
        yield wire
        assert wire.refused == []
        assert computer.is_whole()


both = pytest.mark.parametrize(
    "wire", ["openai", pytest.param("anthropic", marks=pytest.mark.slow)], indirect=True
)


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    ("share", "ran"), [(0.1, 0), (0.14, 2)], ids=["as-the-turn-begins", "within-the-turn"]
)
def test_turn_killed_during_compaction_is_finished(
    computer: Computer, wire: Wire, share: float, ran: int
) -> None:
    computer.config(SETTINGS % share)
    for number in (1, 2):
        assert computer.run("run", f"{number} {LONG}", "--session", "s").code == 0
    killed = computer.run("run", WORK, "--session", "s", HOOKLINE_CRASH_AT="mid-compaction")
    assert killed.code == -9, killed.err
    assert len(computer.ran()) == ran
    assert computer.rows("SELECT count(*) FROM rewrites") == [0]
    second = computer.run("run", "next", "--session", "s")
    assert (second.code, second.out) == (0, f"{NEXT}\n"), second.err
    messages = computer.messages("s")
    assert paired(messages)
    step = f"→ append {ENTRY}"
    result = f"← appended {ENTRY}"
    assert [line_of(message) for message in messages[4:]] == [
        f"user: {WORK}",
        f"assistant: {WORKING} | {step} | {step}",
        f"user: {result} | {result}",
        f"assistant: {DONE}",
        "user: next",
        f"assistant: {NEXT}",
    ]
    assert Counter(computer.ran()) == {f"append {ENTRY}": 2}
    assert computer.rows("SELECT count(*) FROM rewrites") != [0]
    assert SUMMARY in _everything_said(wire.answered[-1])
    replies = computer.rows("SELECT json_extract(body, '$.text') FROM outbox ORDER BY created")
    assert replies == [NEXT, NEXT, DONE, NEXT]
    assert computer.rows("SELECT DISTINCT state FROM turns") == ["done"]


def _everything_said(body: dict[str, Any]) -> str:
    contents = [message["content"] for message in body["messages"]]
    return "\n".join(
        content if isinstance(content, str) else json.dumps(content).replace("\\n", "\n")
        for content in contents
    )
