"""Origins follow a text into history, store, forks, sub-agents and summaries."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    Answer,
    Ask,
    Attachment,
    Audio,
    Context,
    ContextBlock,
    Effect,
    Inbound,
    Lesson,
    Message,
    Origin,
    Plugin,
    Rewrite,
    ToolCall,
    ToolOutput,
    Turn,
    command,
    hookimpl,
    tool,
)
from hookline_hookspecs.file_origins import local_file_origins

Make = Callable[..., Any]
ME = Origin("operator", "terminal:tester")
PAGE = Origin("outside", "https://page.example/")


class Tools(Plugin):
    """Tools of every origin, which record the origins they see."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[tuple[Origin, ...]] = []
        self.effects: list[tuple[Effect, ...]] = []
        self.learnt: list[Lesson] = []

    def _effects(self, ctx: Context, call: ToolCall) -> Sequence[Effect]:
        return [Effect("write", call.arguments["path"])]

    @tool(read_only=True, origin="outside")
    def fetch(self, url: str) -> ToolOutput:
        """Fetch a page."""
        return ToolOutput("the page", origins=(Origin("outside", url),))

    @tool(read_only=True, origin="workspace")
    def look(self) -> str:
        """Look at a file."""
        return "a file"

    @tool(read_only=True)
    def undeclared(self) -> str:
        """It does not say from where."""
        return "words"

    @tool(origin="workspace", effects=_effects)
    def put(self, path: str) -> str:
        """Write a file."""
        return f"wrote {path}"

    @tool(origin="workspace")
    async def learn(self, ctx: Context, text: str) -> str:
        """Remember something."""
        return await ctx.learn(text, "the model", "note")

    @tool(origin="workspace")
    async def delegate(self, ctx: Context, task: str) -> ToolOutput:
        """Have a sub-agent do it."""
        turn = await self.host.run_turn(task, parent=ctx, kind="agent")
        found = [origin for message in turn.messages for origin in message.origins]
        return ToolOutput(turn.reply, origins=tuple(found))

    @command("/summarise")
    async def summarise(self, ctx: Context, args: str) -> str:
        """Replace the whole history by a sentence."""
        await ctx.rewrite([Rewrite(0, len(ctx.history), (Message.user("in short"),))])
        return "done"

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Answer | None:
        self.seen.append(ctx.origins)
        self.effects.append(ctx.effects(call))
        return Answer("from the cache") if call.arguments.get("url") == "cached" else None

    @hookimpl
    def pre_learn(self, ctx: Context, lesson: Lesson) -> None:
        self.learnt.append(lesson)


class Recall(Plugin):
    """Adds text read on another day to the turn's context."""

    @hookimpl
    def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock:
        return ContextBlock("recalled-context", "an old page", origins=(PAGE,))


def origins_of(h: Any, session: str = "test") -> list[tuple[Origin, ...]]:
    """The origins of every stored message."""
    stored = h.run(h.plugin(Tools).host.messages(session))
    return [message.origins for message in stored]


def test_messages_and_tool_results_carry_their_origin(harness: Make) -> None:
    used = [calls("look"), calls("undeclared"), calls("fetch", url="https://page.example/")]
    h = harness(Tools, model=[used, "done"])
    h.send("read these")
    assert origins_of(h) == [
        (ME,),
        (),
        (Origin("workspace", "tool look"), Origin("workspace", "tool undeclared"), PAGE),
        (),
    ]


def test_origins_accumulate_within_and_across_turns(harness: Make) -> None:
    h = harness(
        Tools,
        model=[[calls("fetch", url=PAGE.source)], [calls("look")], "read", [calls("look")], "ok"],
    )
    h.send("read")
    h.send("again")
    assert h.plugin(Tools).seen == [(ME,), (ME, PAGE), (ME, PAGE, Origin("workspace", "tool look"))]


def test_cached_result_has_the_origin_declared_by_its_tool(harness: Make) -> None:
    h = harness(Tools, model=[[calls("fetch", url="cached")], "done"])
    h.send("read")
    assert origins_of(h)[2] == (Origin("outside", "tool fetch"),)


def test_origins_are_not_sent_to_the_model(harness: Make) -> None:
    h = harness(Tools, model=[[calls("fetch", url="https://never.example/")], "done"])
    h.send("read")
    assert b"never.example" not in h.model.wires[1].fragments[2]
    assert all(b"origins" not in fragment for wire in h.model.wires for fragment in wire.fragments)


def test_origins_are_stored_exported_and_read_by_another_process(
    harness: Make, tmp_path: Path
) -> None:
    home = tmp_path / "shared"
    first = harness(Tools, home=home, model=[[calls("fetch", url=PAGE.source)], "done"])
    first.send("read")
    first.close()
    second = harness(Tools, home=home, model=[[calls("look")], "done"])
    second.send("and now")
    assert second.plugin(Tools).seen == [(ME, PAGE)]


def test_summary_keeps_the_origins_of_its_messages(harness: Make) -> None:
    h = harness(Tools, model=[[calls("fetch", url=PAGE.source)], "done", [calls("look")], "ok"])
    h.send("read")
    h.send("/summarise")
    h.send("and now")
    assert h.plugin(Tools).seen[-1] == (ME, PAGE)


def test_origins_of_recalled_context_outlive_the_context(harness: Make) -> None:
    h = harness(Tools, Recall, model=[[calls("look")], "ok"])
    h.send("hello")
    assert set(h.plugin(Tools).seen[0]) == {ME, PAGE}
    assert origins_of(h)[0] == (PAGE, ME)


def test_forks_and_sub_agents_inherit_origins_and_sub_agents_return_them(harness: Make) -> None:
    h = harness(Tools, model=[[calls("fetch", url=PAGE.source)], "read", [calls("look")], "forked"])
    h.send("read")
    h.run(h.plugin(Tools).host.fork("test", "review this"))
    assert h.plugin(Tools).seen[-1] == (ME, PAGE)
    script = [
        [calls("delegate", task="read it")],
        [calls("fetch", url=PAGE.source)],
        "child",
        "done",
    ]
    parent = harness(Tools, model=[*script, [calls("look")], "end"])
    parent.send("have it read")
    assert parent.plugin(Tools).seen == [(ME,), (ME,)]
    parent.send("and now")
    assert parent.plugin(Tools).seen[-1] == (ME, PAGE)


def test_sub_agent_of_a_tainted_session_starts_tainted(harness: Make) -> None:
    script = [[calls("fetch", url=PAGE.source)], [calls("delegate", task="go on")], [calls("look")]]
    h = harness(Tools, model=[*script, "child", "done"])
    h.send("read, then delegate")
    assert h.plugin(Tools).seen[-1] == (ME, PAGE)


def test_forwarded_text_and_attachments_are_from_outside(harness: Make, tmp_path: Path) -> None:
    h = harness(Tools, model=["read"])
    file = tmp_path / "letter.txt"
    file.write_text("hello")
    letter = Attachment(
        file, "text/plain", "letter.txt", 5, origins=(Origin("outside", "attachment letter.txt"),)
    )
    inbound = Inbound("chat", "7", "222", "m1", "look", (letter,), session_id="s", forwarded="Eve")

    async def send() -> None:
        runtime = await h.aopen()
        submission = await runtime.dispatcher.submit(inbound, "no")
        await submission.mark_delivered()

    h.run(send())
    assert origins_of(h, "s")[0] == (
        Origin("person", "chat:222"),
        Origin("outside", "forwarded from Eve"),
        Origin("outside", "attachment letter.txt"),
    )


def test_learned_text_carries_the_origins_of_its_session(harness: Make) -> None:
    script = [[calls("fetch", url=PAGE.source)], [calls("learn", text="water is wet")], "done"]
    h = harness(Tools, model=script)
    h.send("read and remember")
    assert h.plugin(Tools).learnt[0].origins == (ME, PAGE)


def test_undeclared_effects_are_unknown(harness: Make) -> None:
    used = [calls("put", path="a.txt"), calls("look"), calls("learn", text="x")]
    h = harness(Tools, model=[[one] for one in used] + ["done"])
    h.send("go")
    assert h.plugin(Tools).effects == [(Effect("write", "a.txt"),), (), (Effect("unknown"),)]


class Once(Plugin):
    """Asks about a single call."""

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Ask:
        return Ask("it was a page that wanted it", once=True)


@pytest.mark.parametrize(
    ("answer", "ran"), [("Allow once", True), ("Deny", False), ("Allow always", False)]
)
def test_question_about_one_call_offers_only_once_and_deny(
    harness: Make, answer: str, ran: bool
) -> None:
    h = harness(Once, Tools, model=[[calls("put", path="a.txt")], "done"], answers=[answer])
    result = h.send("go").tool_calls[0]
    assert h.questions[0].choices == ("Allow once", "Deny")
    assert result.ok is ran


def test_resumed_turn_keeps_origins_of_finished_calls(harness: Make, tmp_path: Path) -> None:
    """A dead process left the result in the store without the message that holds it."""
    home = tmp_path / "shared"
    first = harness(Tools, home=home, model=[[calls("fetch", url=PAGE.source)], "done"])
    first.send("read")
    rows = first.run(_steps(first))
    first.close()
    assert json.loads(rows[0]["origins"]) == [["outside", PAGE.source]]


async def _steps(h: Any) -> list[Any]:
    runtime = await h.aopen()
    found: list[Any] = await runtime.engine.store.read(lambda db: db.fetch("SELECT * FROM steps"))
    return found


@pytest.mark.parametrize("channel", ["terminal", "chat"])
def test_attachment_has_its_own_origins_on_every_channel(
    harness: Make, tmp_path: Path, channel: str
) -> None:
    h = harness(Tools, model=["read"])
    file = tmp_path / "letter.txt"
    file.write_text("hello")
    files = (
        Attachment(file, "text/plain", "letter.txt", 5, origins=(PAGE,)),
        Audio(file, "audio/ogg", 1.0, origins=(Origin("outside", "sound.ogg"),)),
        Audio(file, "audio/ogg", 1.0, origins=()),
    )
    inbound = Inbound(channel, "7", "222", "m1", "look", files, session_id="s")

    async def send() -> None:
        runtime = await h.aopen()
        submission = await runtime.dispatcher.submit(inbound, "no")
        await submission.mark_delivered()

    h.run(send())
    assert origins_of(h, "s")[0][1:] == (PAGE, Origin("outside", "sound.ogg"))


def test_file_that_was_downloaded_is_from_outside(tmp_path: Path) -> None:
    own, downloaded = tmp_path / "own.png", tmp_path / "downloaded.png"
    for file in (own, downloaded):
        file.write_bytes(b"x")
    try:
        os.setxattr(downloaded, "user.xdg.origin.url", b"https://page.example/a.png")
    except (AttributeError, OSError):
        pytest.skip("this file system has no extended attributes")
    assert local_file_origins(own) == (Origin("workspace", "attachment own.png"),)
    assert local_file_origins(downloaded) == (Origin("outside", "https://page.example/a.png"),)


def test_attachment_without_origins_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="origins"):
        Attachment(tmp_path, "text/plain", "a", 1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="origins"):
        Audio(tmp_path, "audio/ogg", 1.0)  # type: ignore[call-arg]
