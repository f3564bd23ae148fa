"""Files generated in a turn are attached to its reply, and to no other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from hookline.testing import calls
from hookline_hookspecs import Attachment, Context, Inbound, Job, Plugin, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig

DRAW = calls("generate_image", prompt="a red bicycle")
SPEAK = calls("text_to_speech", text="Good morning", format="opus")


def test_generated_picture_is_attached_to_the_reply(media_tools: Any) -> None:
    reply = media_tools.say("draw", DRAW, "Here it is.")
    (picture,) = reply.attachments
    assert isinstance(picture, Attachment)
    assert (picture.mime, picture.name) == ("image/png", "picture-1.png")
    assert picture.path in media_tools.media
    assert picture.size == picture.path.stat().st_size
    assert reply.text == "Here it is."


def test_attachments_keep_the_order_of_the_calls(media_tools: Any) -> None:
    reply = media_tools.say("draw and speak", [DRAW, SPEAK], DRAW, "Here.")
    assert [(one.mime, one.name) for one in reply.attachments] == [
        ("image/png", "picture-1.png"),
        ("audio/ogg", "speech-2.ogg"),
        ("image/png", "picture-3.png"),
    ]


def test_next_reply_has_no_old_attachment(media_tools: Any) -> None:
    media_tools.say("draw", DRAW, "Here it is.")
    assert media_tools.say("thanks", "Welcome.").attachments == ()


def test_failed_call_attaches_nothing(media_tools: Any) -> None:
    reply = media_tools.say("draw", calls("generate_image", prompt="forbidden"), "I may not.")
    assert reply.attachments == ()


class Eraser(Plugin[NoConfig]):
    """Deletes what was made before it is delivered."""

    @hookimpl(tryfirst=True)
    def pre_reply(self, ctx: Context, reply: Any) -> None:
        for file in (ctx.host.home / "media").iterdir():
            file.unlink()


def test_missing_file_does_not_hold_back_the_reply(make_media_tools: Callable[..., Any]) -> None:
    reply = make_media_tools(Eraser).say("draw", DRAW, "Here it is.")
    assert (reply.text, reply.attachments) == ("Here it is.", ())


class Slow(Plugin[NoConfig]):
    """A tool during which the process ends."""

    begun = asyncio.Event()

    @tool
    async def wait(self) -> str:
        """Wait."""
        Slow.begun.set()
        await asyncio.Event().wait()
        return "waited"


def test_turn_finished_by_another_process_keeps_the_attachment(
    make_media_tools: Callable[..., Any],
) -> None:
    Slow.begun = asyncio.Event()
    first = make_media_tools(Slow).harness
    first.model.steps[:] = [DRAW, calls("wait")]

    async def begin_and_end() -> None:
        runtime = await first.aopen()
        await runtime.dispatcher.receive(Inbound("fake", "chat", "user", "m1", "draw and wait"))
        async with asyncio.timeout(60):
            await Slow.begun.wait()
        await first.aclose()

    first.run(begin_and_end())
    second = make_media_tools(Slow, home=first.home).harness
    second.model.steps[:] = ["Here it is."]

    async def finish() -> Any:
        runtime = await second.aopen()
        await runtime.gateway_host.recover()
        return (await second.channel.replies(1, seconds=60))[0]

    reply = second.run(finish())
    assert reply.text == "Here it is."
    assert [one.mime for one in reply.attachments] == ["image/png"]


class Liar(Plugin[NoConfig]):
    """A tool whose result names a file that it did not generate."""

    @tool
    def tell(self, ctx: Context, path: str) -> str:
        """Tell."""
        return f"Saved to {path} (image/png, 3 bytes)."


def test_path_named_by_another_tool_attaches_nothing(make_media_tools: Callable[..., Any]) -> None:
    media_tools = make_media_tools(Liar)
    media_tools.say("draw", DRAW, "Here it is.")
    (path,) = media_tools.media
    assert media_tools.say("tell", calls("tell", path=str(path)), "Told.").attachments == ()


class Manager(Plugin[NoConfig]):
    """Lets a sub-agent draw."""

    @tool
    async def hand_over(self, ctx: Context) -> str:
        """Let a sub-agent work."""
        return (await ctx.host.run_turn("draw", parent=ctx)).reply


def test_file_of_a_sub_agent_is_attached_to_the_chats_reply(
    make_media_tools: Callable[..., Any],
) -> None:
    media_tools = make_media_tools(Manager)
    reply = media_tools.say("draw", calls("hand_over"), DRAW, "Drawn.", "Here it is.")
    assert [one.mime for one in reply.attachments] == ["image/png"]
    assert media_tools.say("thanks", "Welcome.").attachments == ()


def test_reply_attachments_do_not_stop_streaming(media_tools: Any) -> None:
    """A hook that only adds attachments does not buffer the reply."""
    h = media_tools.harness
    h.model.steps[:] = ["one two"]
    heard: list[str] = []

    def hear(event: Any, ctx: Any = None) -> None:
        heard.append(event.text)

    h.runtime.bus.signals.connect("delta", hear)
    h.send("hello")
    assert heard == ["one", "two"]


def test_old_files_are_deleted(media_tools: Any) -> None:
    media_tools.say("draw", DRAW, "Here it is.")
    (made,) = media_tools.media
    other = made.with_name("notes.txt")
    other.write_text("not ours")
    jobs = media_tools.harness.runtime.bus.registered(Job)
    ((_, prune),) = [one for one in jobs if one[1].name == "prune"]
    media_tools.harness.run(prune.run())
    assert made.is_file()
    os.utime(made, (1, 1))
    media_tools.harness.run(prune.run())
    assert media_tools.media == [other]
