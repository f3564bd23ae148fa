"""The examples of the hook reference do what they say."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, ScriptedModel, calls
from hookline_hookspecs import (
    HOOKS,
    Audio,
    Context,
    Message,
    NetworkError,
    Plugin,
    Question,
    Rewrite,
    command,
    tool,
)
from meta.tree import ROOT

MakeHarness = Callable[..., Harness]
Story = Callable[[MakeHarness, Any], None]
FOLDER = ROOT / "docs/_gen/hook_examples"
STORIES: dict[str, Story] = {}


def story(function: Story) -> Story:
    """Register the story of the hook that a function is named after."""
    STORIES[function.__name__] = function
    return function


def example(hook: str) -> Any:
    """The plugin class of a hook's example."""
    name = f"hook_example_{hook}"
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{hook}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kinds = [one for one in vars(module).values() if isinstance(one, type)]
    (found,) = [one for one in kinds if issubclass(one, Plugin) and one.__module__ == name]
    return found


class Desk(Plugin):
    """Tools and commands for the examples."""

    tries = 0

    @tool(read_only=True)
    def look(self) -> str:
        """Look; the first time fails."""
        self.tries += 1
        if self.tries == 1:
            raise RuntimeError("too dark")
        return "a desk"

    @tool
    def pay(self, euros: float) -> str:
        """Pay."""
        return "paid"

    @tool
    async def learn(self, ctx: Context, text: str) -> str:
        """Remember."""
        return await ctx.learn(text, "desk", "note")

    @tool(read_only=True)
    async def read(self, ctx: Context, text: str, source: str) -> str:
        """Read."""
        return await ctx.read(text, source)

    @tool(read_only=True)
    async def survey(self, ctx: Context) -> str:
        """Ask."""
        return str(await ctx.ask(Question("How was it?", ("Good", "Skip"))))

    @command("/shorten")
    async def shorten(self, ctx: Context, args: str) -> str:
        """Shorten the history."""
        return str(len(await ctx.rewrite([Rewrite(0, 2, (Message.user("before"),))])))


def results(h: Harness, text: str = "go", **options: Any) -> list[str]:
    return [result.text for result in h.send(text, **options).tool_calls]


def stored(h: Harness, kind: Any, key: str) -> Any:
    return h.run(h.plugin(kind).host.storage.kv.get(key))


@story
def setup(harness: MakeHarness, kind: Any) -> None:
    first = harness(kind, model=["hi"])
    first.send("hello")
    first.close()
    again = harness(kind, home=first.home, model=["hi"])
    again.send("hello")
    assert again.plugin(kind).starts == 2


@story
def teardown(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["hi"])
    h.send("hello")
    process = h.plugin(kind).process
    assert process.returncode is None
    h.close()
    assert process.returncode is not None


@story
def register_tools(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, config={"rooms": ["attic"]}, model=[calls("look_into_attic"), "Empty."])
    assert results(h) == ["the attic is empty"]


@story
def register_cli(harness: MakeHarness, kind: Any) -> None:
    assert harness(kind).cli("greet-hello --times 2").stdout == "Hello!\nHello!\n"


@story
def register_channels(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["Hello, Ann."])
    channel: Any = h.registered_channel("mailbox")

    async def write() -> None:
        await channel.start()
        await channel.post(1, "hello")
        while not channel.sent:
            await asyncio.sleep(0.01)
        await channel.stop()
        await channel.wait()

    h.run(write())
    assert channel.sent == ["Hello, Ann."]


@story
def register_routes(harness: MakeHarness, kind: Any) -> None:
    (route,) = harness(kind).routes()
    assert (route.method, route.path, route.auth) == ("GET", "/ping", "person")
    h = harness(kind)
    assert h.run(route.handler(None)) == {"ok": True}


@story
def register_checks(harness: MakeHarness, kind: Any) -> None:
    assert harness(kind).check("disk").detail.endswith("GB free")


@story
def register_jobs(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["hi"])
    h.job("nightly")
    assert stored(h, kind, "last") > 0


@story
def register_reviewers(harness: MakeHarness, kind: Any) -> None:
    from hookline_review import Review

    review = [calls("note_book", title="Emma"), "Noted one."]
    h = harness(kind, Review, model=["yes"] * 5 + review)
    for _ in range(5):
        h.send("I am reading Emma")
    assert stored(h, kind, "books") == ["Emma"]


@story
def start_of_session(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["one", "two"])
    texts = [[notice.text for notice in h.send("hello").notices] for _ in range(2)]
    assert texts == [["Welcome! /help lists the commands."], []]


@story
def system_prompt(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, config={"tone": "formal"}, model=["hi"])
    h.send("hello")
    assert "Answer in a formal tone." in h.model.last.system


@story
def end_of_session(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["hi"])
    session = h.send("hello").turn.session
    h.send("/new")
    assert stored(h, kind, f"messages/{session.id}") == 2


@story
def on_message(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["yes"])
    assert h.send("WHY DOES NOBODY ANSWER ME").text == "Please do not shout."
    h.send("is k8s up?")
    assert h.model.last.messages[-1].text == "is Kubernetes up?"


@story
def on_voice(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, config={"program": ["sh", "-c", 'cat "$0"']}, model=["fine"])
    voice = h.home.parent / "voice.txt"
    voice.write_text("how are you?")
    h.send("", attachments=[Audio(voice, "audio/ogg", 2.0, origins=())])
    assert "how are you?" in h.model.last.messages[-1].text


@story
def start_of_turn(harness: MakeHarness, kind: Any) -> None:
    h = harness(Desk, kind, model=[[calls("pay", euros=1)] * 6, "done"])
    assert results(h) == ["paid"] * 5 + ["Denied: five tool calls are enough"]


@story
def pre_prompt(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["hi"])
    h.clock.stop(1_700_000_000)
    h.send("hello")
    assert "<time>2023-11-1" in h.model.last.messages[-1].context


@story
def pre_model(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["hi"])
    h.send("hello")
    assert h.model.last.params["temperature"] == 0.2


@story
def pre_send(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["hi"])
    h.send("hello")
    assert json.loads(h.model.bodies[-1])["user"] == "default"


@story
def around_model(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["hi"])
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    h.plugin(kind).log.addHandler(handler)
    h.send("hello")
    assert any(line.startswith("test/") and " took " in line for line in lines)


@story
def post_model(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["word " * 10_000, "short"])
    assert "characters" in h.send("hello").notices[0].text
    assert h.send("hello").notices == ()


@story
def pre_tool(harness: MakeHarness, kind: Any) -> None:
    steps = [[calls("pay", euros=2000)], [calls("pay", euros=20)], "done"]
    h = harness(Desk, kind, model=steps, answers=["Allow once"])
    assert results(h) == ["Denied: more than 1000 euros are not paid", "paid"]
    assert h.questions[0].preview == "20.00 euros"


@story
def around_tool(harness: MakeHarness, kind: Any) -> None:
    h = harness(Desk, kind, model=[calls("look"), "done"], strict=False)
    assert results(h) == ["a desk"]


@story
def post_tool(harness: MakeHarness, kind: Any) -> None:
    h = harness(Desk, kind, model=[calls("look"), "done"], strict=False)
    (result,) = h.send("go").tool_calls
    assert "Do not repeat the same call." in result.notes


@story
def post_answer(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["Fine.", "Fine. Yours, Hookline"])
    assert h.send("how are you?").text.endswith("Yours, Hookline")
    assert len(h.model.requests) == 2


@story
def end_of_turn(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["one", "two"])
    h.send("a")
    h.send("b")
    assert stored(h, kind, "done") == 2


@story
def pre_reply(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=["Fine."])
    assert h.send("how are you?").text == "Fine.\n\nWritten by a program."


@story
def on_question(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, Desk, model=[calls("survey"), "done"])
    assert results(h) == ["Skip"]
    assert not h.questions


@story
def pre_learn(harness: MakeHarness, kind: Any) -> None:
    steps = [[calls("learn", text="Her salary is 1"), calls("learn", text="x" * 600)], "done"]
    refused, shortened = results(harness(Desk, kind, model=steps, strict=False))
    assert "salaries are not remembered" in refused
    assert shortened == "x" * 500


@story
def pre_read(harness: MakeHarness, kind: Any) -> None:
    step = [
        calls("read", text="Project Heron is late", source="notes.txt"),
        calls("read", text="secret", source="minutes.board"),
    ]
    shown, refused = results(harness(Desk, kind, model=[step, "done"], strict=False))
    assert shown == "the project is late"
    assert "files of the board are not read" in refused


@story
def pre_compact(harness: MakeHarness, kind: Any) -> None:
    h = harness(Desk, kind, model=["one", "two"])
    session = h.send("hello").turn.session
    h.send("/shorten")
    archive = h.plugin(kind).host.storage.dir / f"{session.id}.txt"
    assert archive.read_text() == "user: hello\nassistant: one"


@story
def on_error(harness: MakeHarness, kind: Any) -> None:
    h = harness(kind, model=ScriptedModel([NetworkError("no route")] * 9))
    notices = [notice.text for notice in h.send("hello").notices]
    assert "The model cannot be reached. Try again in a few minutes." in notices


def test_every_hook_has_an_example_and_a_story() -> None:
    assert {file.stem for file in FOLDER.glob("*.py")} == set(HOOKS) == set(STORIES)


@pytest.mark.parametrize("hook", HOOKS)
def test_example_of_a_hook_does_what_it_says(harness: MakeHarness, hook: str) -> None:
    kind = example(hook)
    assert hasattr(vars(kind)[hook], "hookline_impl")
    STORIES[hook](harness, kind)
