"""One test per hook: when it fires, what it receives, what its result and failure do.

Everything runs through the harness; ``seen`` collects what an implementation received.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.sessions.context import detached_context
from hookline.testing import calls
from hookline_hookspecs import (
    Answer,
    Ask,
    Attachment,
    Audio,
    Check,
    CheckResult,
    ContextBlock,
    Deny,
    Excerpt,
    Failure,
    Inbound,
    Job,
    Lesson,
    ModelRequest,
    ModelResponse,
    Overloaded,
    Plugin,
    Question,
    Refused,
    Reply,
    Reviewer,
    Route,
    Section,
    Session,
    TextBlock,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    WireRequest,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]


class Hands(Plugin[NoConfig]):
    """Two tools to call: one that only reads and one that writes."""

    done: list[str]

    @hookimpl
    def setup(self, host: Any) -> None:
        self.done = []

    @tool(read_only=True)
    def look(self, where: str = "here") -> str:
        """Look somewhere."""
        self.done.append(f"look {where}")
        return f"seen {where}"

    @tool
    async def act(self, what: str) -> str:
        """Change something."""
        self.done.append(f"act {what}")
        return f"did {what}"


def done(h: Any) -> list[str]:
    found: list[str] = h.plugin(Hands).done
    return found


def texts(outcome: Any) -> list[str]:
    return [result.text for result in outcome.tool_calls]


# Boot


def test_hook_setup(harness: Make) -> None:
    seen: list[Any] = []

    class Good(Plugin[NoConfig]):
        @hookimpl
        async def setup(self, host: Any) -> None:
            await asyncio.sleep(0)
            seen.append((host is self.host, host.plugin))

    class Bad(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            raise ConnectionError("the broker is away")

        @hookimpl
        def teardown(self, host: Any) -> None:
            seen.append("teardown of what was never set up")

    h = harness(Good, Bad, model=["hi"], strict=False)
    assert h.send("hello").text == "hi"
    assert seen == [(True, "good")]
    state, reason = h.states()["bad"]
    assert state == "failed"
    assert "the broker is away" in reason
    assert h.states()["good"] == ("on", "")
    h.close()
    assert len(seen) == 1


def test_hook_teardown(harness: Make) -> None:
    order: list[str] = []

    class Base(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            order.append(f"setup {host.plugin}")

        @hookimpl
        async def teardown(self, host: Any) -> None:
            order.append(f"teardown {host.plugin}")
            if host.plugin == "second":
                raise ValueError("a failing one does not keep the others from theirs")

    class First(Base): ...

    class Second(Base): ...

    h = harness(First, Second, strict=False)
    assert h.runtime is not None
    h.close()
    assert order == ["setup first", "setup second", "teardown second", "teardown first"]


def test_hook_register_tools(harness: Make) -> None:
    class Late(Plugin[NoConfig]):
        @hookimpl
        def register_tools(self, register: Callable[[Tool], None]) -> None:
            def shout(text: str) -> str:
                """Say it loudly."""
                return text.upper()

            register(Tool.from_function(shout, read_only=True))
            raise ValueError("what was registered before stays")

    h = harness(Late, model=[[calls("shout", text="hey")], "ok"], strict=False)
    assert texts(h.send("go")) == ["HEY"]
    assert [schema.name for schema in h.model.requests[0].tools] == ["shout"]


def test_hook_register_cli(harness: Make) -> None:
    class Cli(Plugin[NoConfig]):
        @hookimpl
        def register_cli(self, register: Any) -> None:
            register("weather", print, help="Tell the weather.")

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def register_cli(self, register: Any) -> None:
            raise ValueError

    found: list[Any] = []
    h = harness(Broken, Cli, strict=False)
    h.runtime.bus.gather(
        "register_cli",
        lambda plugin: lambda name, command, *, help="": found.append((plugin, name, help)),  # noqa: A006
    )
    assert found == [("cli", "weather", "Tell the weather.")]


class _Post:
    """A channel that keeps what it is to send."""

    edits, network = False, True

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: list[Reply] = []

    async def start(self) -> None: ...

    async def wait(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, reply: Reply) -> str | None:
        self.sent.append(reply)
        return "1"


def test_hook_register_channels(harness: Make) -> None:
    post, twin = _Post("post"), _Post("post")

    class Mail(Plugin[NoConfig]):
        @hookimpl
        def register_channels(self, register: Any) -> None:
            register(post)

    class Copy(Plugin[NoConfig]):
        @hookimpl
        def register_channels(self, register: Any) -> None:
            register(twin)

    async def go() -> None:
        runtime = await h.aopen()
        await runtime.dispatcher.receive(Inbound("post", "chat", "user", "m1", "hello"))
        await runtime.finish_background(5)

    h = harness(Mail, Copy, model=["hi"], strict=False)
    h.run(go())
    assert [(reply.text, reply.in_reply_to) for reply in post.sent] == [("hi", "m1")]
    assert twin.sent == [], "a second channel of one name is refused"


def test_hook_register_routes(harness: Make) -> None:
    async def handler(request: Any) -> None: ...

    class Web(Plugin[NoConfig]):
        @hookimpl
        def register_routes(self, register: Any) -> None:
            register(Route("GET", "/ping", handler))

    assert _gathered(harness, Web, "register_routes") == [("web", Route("GET", "/ping", handler))]


def test_hook_register_checks(harness: Make) -> None:
    check = Check("disk", lambda: CheckResult(True, "fine"))

    class Doctor(Plugin[NoConfig]):
        @hookimpl
        def register_checks(self, register: Any) -> None:
            register(check)

    class Ill(Plugin[NoConfig]):
        @hookimpl
        def register_checks(self, register: Any) -> None:
            raise ValueError

    h = harness(Ill, Doctor, strict=False)
    assert h.checks() == [("doctor", check)]


def test_hook_register_jobs(harness: Make) -> None:
    async def sweep() -> None: ...

    class Sweeper(Plugin[NoConfig]):
        @hookimpl
        def register_jobs(self, register: Any) -> None:
            register(Job("sweep", sweep, every=60))

    assert _gathered(harness, Sweeper, "register_jobs") == [
        ("sweeper", Job("sweep", sweep, every=60))
    ]


def test_hook_register_reviewers(harness: Make) -> None:
    reviewer = Reviewer("memory", "What is worth keeping?", ("memory",), lambda ctx: True)

    class Learner(Plugin[NoConfig]):
        @hookimpl
        def register_reviewers(self, register: Any) -> None:
            register(reviewer)

    assert _gathered(harness, Learner, "register_reviewers") == [("learner", reviewer)]


def _gathered(harness: Make, plugin: type[Plugin[Any]], hook: str) -> list[Any]:
    """What ``plugin`` registers while another one before it fails."""

    class Broken(Plugin[NoConfig]):
        @hookimpl(specname=hook)
        def fails(self, register: Any) -> None:
            raise ValueError

    found: list[Any] = []
    h = harness(Broken, plugin, strict=False)
    h.runtime.bus.gather(hook, lambda name: lambda part: found.append((name, part)))
    return found


# Session


def test_hook_start_of_session(harness: Make, tmp_path: Path) -> None:
    seen: list[Any] = []

    class Watch(Plugin[NoConfig]):
        @hookimpl
        def start_of_session(self, ctx: Any, session: Session) -> None:
            seen.append((session.id, session.resumed, ctx.session == session))
            raise ValueError("logged, no more")

    h = harness(Watch, model=["a", "b"], home=tmp_path / "one", strict=False)
    assert h.send("x").text == "a"
    assert h.send("y").text == "b"
    assert seen == [("test", False, True)], "once, not at each turn"
    h.close()
    again = harness(Watch, model=["c"], home=tmp_path / "one", strict=False)
    assert again.send("z").text == "c"
    assert seen[1:] == [("test", True, True)]


def test_hook_end_of_session(harness: Make) -> None:
    seen: list[Session] = []

    class Watch(Plugin[NoConfig]):
        @hookimpl
        async def end_of_session(self, ctx: Any, session: Session) -> None:
            seen.append(session)
            raise ValueError("the session ends all the same")

    h = harness(Watch, model=["a", "b", "c"], strict=False)
    h.send("x")
    h.send("y")
    assert seen == []
    h.send("/new")
    assert [session.id for session in seen] == ["test"]
    h.send("z")
    assert len(h.model.last.messages) == 1


def test_session_ends_once(harness: Make) -> None:
    order: list[str] = []

    class Watch(Plugin[NoConfig]):
        @hookimpl
        def start_of_session(self, ctx: Any, session: Session) -> None:
            order.append(f"start {session.id}")

        @hookimpl
        def end_of_session(self, ctx: Any, session: Session) -> None:
            order.append(f"end {session.id}")

    h = harness(Watch, model=["a", "b"])
    h.send("x", session="named")
    h.send("/new", session="named")
    h.send("y", session="named")
    assert order == ["start named", "end named", "start named~2"]


def test_hook_system_prompt(harness: Make) -> None:
    seen: list[Any] = []

    class Slots(Plugin[NoConfig]):
        @hookimpl
        async def system_prompt(self, ctx: Any, session: Session) -> list[Section]:
            seen.append((session.id, ctx.channel))
            return [Section("channel", "LAST"), Section("user", "USER"), Section("memory", "MEM")]

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def system_prompt(self, ctx: Any, session: Session) -> None:
            raise ValueError

    class Second(Plugin[NoConfig]):
        @hookimpl
        def system_prompt(self, ctx: Any, session: Session) -> Section:
            return Section("memory", "MORE")

    h = harness(Slots, Broken, Second, model=["a", "b"], strict=False)
    h.send("x")
    h.send("y")
    assert seen == [("test", "terminal")], "once for a session"
    system = h.model.requests[0].system
    positions = [system.index(part) for part in ("MEM", "MORE", "USER", "Date: ", "LAST")]
    assert positions == sorted(positions)


def test_identity_section_of_a_plugin_replaces_the_default(harness: Make) -> None:
    class Soul(Plugin[NoConfig]):
        @hookimpl
        def system_prompt(self, ctx: Any, session: Session) -> Section:
            return Section("identity", "You are Marvin.")

    h = harness(Soul, model=["a"])
    h.send("x")
    assert h.model.last.system.startswith("You are Marvin.")
    assert "You are Hookline" not in h.model.last.system


# In


def test_hook_on_message(harness: Make) -> None:
    seen: list[Inbound] = []

    class Rewrites(Plugin[NoConfig]):
        @hookimpl
        def on_message(self, ctx: Any, inbound: Inbound) -> Inbound:
            return replace(inbound, text=inbound.text.strip("!"))

    class Access(Plugin[NoConfig]):
        @hookimpl
        async def on_message(self, ctx: Any, inbound: Inbound) -> Deny | None:
            seen.append(inbound)
            if inbound.text == "crash":
                raise ValueError("a failing gate is a closed one")
            return {"bad": Deny("Not for you."), "silent": Deny("")}.get(inbound.text)

    h = harness(Rewrites, Access, model=["hi"], strict=False)
    assert h.send("hello!!").text == "hi"
    assert h.model.last.messages[0].text == "hello"
    assert (seen[0].channel, seen[0].user_id, seen[0].text) == ("terminal", "tester", "hello")
    refused = h.send("bad!")
    assert (refused.text, refused.stop) == ("Not for you.", "denied")
    assert h.send("silent").text == ""
    assert h.send("crash").stop == "denied"
    assert h.send("/help").stop == "command"
    assert [inbound.text for inbound in seen[1:]] == ["bad", "silent", "crash", "/help"]
    assert len(h.model.requests) == 1


async def test_silent_denial_sends_no_reply(harness: Make) -> None:
    class Access(Plugin[NoConfig]):
        @hookimpl
        def on_message(self, ctx: Any, inbound: Inbound) -> Deny | None:
            return {"stranger": Deny(""), "guest": Deny("Ask the owner.")}.get(inbound.user_id)

    h = harness(Access, model=["hi"])
    await h.aopen()
    await h.channel.say("hello", user="stranger")
    await h.channel.say("hello", user="guest")
    await h.channel.say("hello", user="owner")
    replies = await h.channel.replies(2)
    await h.runtime.finish_background(5)
    assert [reply.text for reply in replies] == ["Ask the owner.", "hi"]


def test_hook_on_voice(harness: Make, tmp_path: Path) -> None:
    audio = Audio(tmp_path / "a.ogg", "audio/ogg", 2.5, origins=())
    seen: list[Any] = []

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def on_voice(self, ctx: Any, audio: Audio) -> str:
            raise ValueError("the next one is asked")

    class Hears(Plugin[NoConfig]):
        @hookimpl
        async def on_voice(self, ctx: Any, audio: Audio) -> str | None:
            seen.append(audio)
            return "spoken words" if audio.duration < 10 else None

    h = harness(Broken, Hears, model=["a", "b"], strict=False)
    h.send("", attachments=[audio])
    assert seen == [audio]
    assert h.model.last.messages[-1].text == "spoken words"
    long = h.send("look", attachments=[replace(audio, duration=99.0)])
    said = h.model.last.messages[-1].text
    assert said.startswith("look\n\n")
    assert "could not be turned into text" in said
    assert any("could not be turned into text" in notice.text for notice in long.notices)


def test_attached_pictures_are_sent_and_other_files_are_named(
    harness: Make, tmp_path: Path
) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"png")
    png = Attachment(picture, "image/png", "a.png", 3, origins=())
    pdf = Attachment(tmp_path / "b.pdf", "application/pdf", "b.pdf", 9, origins=())
    h = harness(model=["a"])
    h.send("see", attachments=[png, pdf])
    text, image = h.model.last.messages[-1].blocks
    assert (image.mime, image.data) == ("image/png", "cG5n")
    assert text.text.startswith("see\n\n")
    assert "b.pdf, application/pdf, 9 bytes" in text.text


# Turn


def test_hook_start_of_turn(harness: Make) -> None:
    seen: list[Any] = []

    class Watch(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self, ctx: Any, turn: Turn) -> None:
            seen.append((turn.inbound.text, turn.messages, turn.stop, ctx.turn.id == turn.id))
            seen.append(len(h.model.requests))
            raise ValueError("logged")

    h = harness(Watch, model=["a"], strict=False)
    assert h.send("hello").text == "a"
    assert seen == [("hello", (), "", True), 0]


def test_hook_pre_prompt(harness: Make) -> None:
    seen: list[Turn] = []

    class Recalls(Plugin[NoConfig]):
        @hookimpl
        def pre_prompt(self, ctx: Any, turn: Turn) -> list[ContextBlock]:
            seen.append(turn)
            one = ContextBlock("recalled-context", 'a < b & "c"</context>')
            return [one, ContextBlock("recalled-context", "second")]

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def pre_prompt(self, ctx: Any, turn: Turn) -> ContextBlock:
            raise ValueError("that contribution is skipped")

    class Skills(Plugin[NoConfig]):
        @hookimpl
        def pre_prompt(self, ctx: Any, turn: Turn) -> ContextBlock:
            return ContextBlock("skills", items=(('a"b', "<do>"),), item_tag="skill")

    h = harness(Recalls, Broken, Skills, Hands, model=[[calls("look")], "a"], strict=False)
    h.send("hello")
    assert [turn.inbound.text for turn in seen] == ["hello"], "once, however many model calls"
    message = h.model.requests[0].messages[0]
    assert message.text == "hello"
    assert message.context == (
        "<context>\n<recalled-context>"
        'a &lt; b &amp; "c"&lt;/context&gt;\nsecond</recalled-context>\n'
        '<skills><skill name="a&quot;b">&lt;do&gt;</skill></skills>\n</context>'
    )


def test_hook_pre_model(harness: Make) -> None:
    seen: list[ModelRequest] = []

    class Tunes(Plugin[NoConfig]):
        @hookimpl
        async def pre_model(self, ctx: Any, request: ModelRequest) -> ModelRequest:
            seen.append(request)
            kept = tuple(schema for schema in request.tools if schema.name != "act")
            return replace(request, tools=kept, params={**request.params, "temperature": 0})

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def pre_model(self, ctx: Any, request: ModelRequest) -> ModelRequest:
            raise ValueError("that step is skipped")

    h = harness(Tunes, Broken, Hands, model=[[calls("look")], "a"], strict=False)
    assert h.send("hello").text == "a"
    assert [request.model for request in seen] == ["test/model"] * 2, "at each model call"
    assert {schema.name for schema in seen[0].tools} == {"look", "act"}
    assert [schema.name for schema in h.model.requests[0].tools] == ["look"]
    assert h.model.requests[1].params == {"temperature": 0}
    assert h.model.wires[1].fields["temperature"] == 0


def test_hook_pre_send(harness: Make) -> None:
    seen: list[WireRequest] = []

    class Adds(Plugin[NoConfig]):
        @hookimpl
        def pre_send(self, ctx: Any, wire: WireRequest) -> WireRequest:
            seen.append(wire)
            return replace(wire, fields={**wire.fields, "seed": 7})

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def pre_send(self, ctx: Any, wire: WireRequest) -> WireRequest:
            raise ValueError("that step is skipped")

    h = harness(Adds, Broken, Hands, model=[[calls("look")], "a"], strict=False)
    assert h.send("hello").text == "a"
    assert [(wire.provider, len(wire.fragments)) for wire in seen] == [("test", 1), ("test", 3)]
    assert all(b"hello" in wire.fragments[0] for wire in seen)
    assert [wire.fields["seed"] for wire in h.model.wires] == [7, 7]


def test_hook_around_model(harness: Make) -> None:
    order: list[str] = []

    class Around(Plugin[NoConfig]):
        @hookimpl
        async def around_model(self, ctx: Any, request: ModelRequest) -> Any:
            async def middleware(request: ModelRequest, call_next: Any) -> ModelResponse:
                order.append("before")
                if request.messages[-1].text == "cached":
                    return ModelResponse((TextBlock("from the cache"),), "end")
                try:
                    return await call_next(request)  # type: ignore[no-any-return]
                except Overloaded:
                    order.append("fallback")
                    changed = replace(request, model="test/other")
                    return await call_next(changed)  # type: ignore[no-any-return]

            return middleware

        @hookimpl
        def pre_send(self, ctx: Any, wire: WireRequest) -> None:
            order.append(f"pre_send {wire.model}")

    h = harness(Around, model=[Overloaded("busy"), "a"])
    assert h.send("hello").text == "a"
    assert order == ["before", "pre_send test/model", "fallback", "pre_send test/other"]
    assert h.model.last.model == "test/other"
    assert h.send("cached").text == "from the cache"
    assert len(h.model.requests) == 2


def test_around_model_error_ends_the_turn_and_names_the_plugin(harness: Make) -> None:
    class Faulty(Plugin[NoConfig]):
        @hookimpl
        def around_model(self, ctx: Any, request: ModelRequest) -> Any:
            async def middleware(request: ModelRequest, call_next: Any) -> Any:
                if request.messages[-1].text == "hello":
                    raise ValueError("my own fault")
                return await call_next(request)

            return middleware

    h = harness(Faulty, model=["later"], strict=False)
    outcome = h.send("hello")
    assert outcome.stop == "error"
    assert "faulty" in outcome.text
    assert "my own fault" in outcome.text
    assert h.model.requests == [], "the call is not made with the middleware peeled off"
    assert h.send("again").text == "later"


def test_hook_post_model(harness: Make) -> None:
    seen: list[Any] = []

    class Watch(Plugin[NoConfig]):
        @hookimpl
        async def post_model(self, ctx: Any, response: ModelResponse) -> None:
            stored = await self.host.messages("test")
            seen.append((response.stop, response.usage.output, stored[-1].role, len(stored)))
            raise ValueError("logged")

    h = harness(Watch, Hands, model=[[calls("look")], "a"], strict=False)
    assert h.send("hello").text == "a"
    assert seen == [("tools", 5, "assistant", 2), ("end", 5, "assistant", 4)], "once journalled"


def test_hook_pre_tool(harness: Make) -> None:
    seen: list[Any] = []

    class Guard(Plugin[NoConfig]):
        @hookimpl
        async def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
            seen.append((call.name, call.arguments, ctx.tool.name, ctx.tool.read_only))
            match call.arguments.get("what"):
                case "deny":
                    return Deny("not that")
                case "ask":
                    return Ask("sure?", "act ask")
                case "answer":
                    return Answer("known already")
                case "crash":
                    raise ValueError("broken")
            return None

    class Lenient(Plugin[NoConfig]):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
            return Answer("a weaker verdict") if call.arguments.get("what") == "deny" else None

    wanted = ["deny", "ask", "answer", "crash", "fine"]
    script = [[calls("act", what=what) for what in wanted], "a"]
    h = harness(Guard, Lenient, Hands, model=script, answers=["Allow once"], strict=False)
    deny, ask, answer, crash, fine = h.send("go").tool_calls
    assert (deny.text, deny.ok) == ("Denied: not that", False)
    assert ask.text == "did ask"
    assert h.questions[0].preview == "act ask"
    assert (answer.text, answer.ok) == ("known already", True)
    assert crash.text.startswith("Denied: ")
    assert "guard" in crash.text
    assert fine.text == "did fine"
    assert done(h) == ["act ask", "act fine"]
    assert seen[0] == ("act", {"what": "deny"}, "act", False)


def test_hook_around_tool(harness: Make) -> None:
    class Around(Plugin[NoConfig]):
        @hookimpl
        def around_tool(self, ctx: Any, call: ToolCall) -> Any:
            if call.name == "act" and call.arguments["what"] == "fault":

                async def fails(call: ToolCall, call_next: Any) -> ToolResult:
                    raise ValueError("my own fault")

                return fails

            async def middleware(call: ToolCall, call_next: Any) -> ToolResult:
                result: ToolResult = await call_next(call)
                return replace(result, text=f"[{ctx.tool.name}: {result.text}]")

            return middleware if call.name == "act" else None

    script = [[calls("look"), calls("act", what="x"), calls("act", what="fault")], "a"]
    h = harness(Around, Hands, model=script, strict=False)
    look, act, fault = h.send("go").tool_calls
    assert (look.text, act.text) == ("seen here", "[act: did x]")
    assert not fault.ok
    assert fault.text.startswith("Error: plugin around failed")
    assert "my own fault" in fault.text
    assert done(h) == ["look here", "act x"]


def test_hook_post_tool(harness: Make) -> None:
    order: list[str] = []

    class Outer(Plugin[NoConfig]):
        @hookimpl
        def post_tool(self, ctx: Any, result: ToolResult) -> ToolResult:
            order.append(f"outer {result.call.name} {result.ok}: {result.text}")
            return replace(result, notes=(*result.notes, "a hint"))

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def post_tool(self, ctx: Any, result: ToolResult) -> ToolResult:
            raise ValueError("that step is skipped")

    class Inner(Plugin[NoConfig]):
        @hookimpl
        async def post_tool(self, ctx: Any, result: ToolResult) -> ToolResult | None:
            order.append("inner")
            return replace(result, text=result.text.upper()) if result.ok else None

    class Guard(Plugin[NoConfig]):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
            return Deny("no") if call.name == "act" else None

    script = [[calls("look"), calls("act", what="x"), calls("nothing")], "a"]
    h = harness(Outer, Broken, Inner, Guard, Hands, model=script, strict=False)
    look, act, unknown = h.send("go").tool_calls
    assert look.text == "SEEN HERE\n\nNote: a hint"
    assert act.text == "Denied: no\n\nNote: a hint"
    assert unknown.text.startswith("Error: ")
    assert unknown.text.endswith("\n\nNote: a hint")
    assert order[:2] == ["inner", "outer look True: SEEN HERE"]
    assert len(order) == 6, "refused and failed calls pass too"
    assert [b.text for b in h.model.last.messages[-1].blocks] == texts_of(look, act, unknown)


def texts_of(*results: ToolResult) -> list[str]:
    return [result.text for result in results]


def test_hook_end_of_turn(harness: Make) -> None:
    seen: list[Any] = []

    class Watch(Plugin[NoConfig]):
        @hookimpl
        async def end_of_turn(self, ctx: Any, turn: Turn) -> None:
            await asyncio.sleep(0.01)
            seen.append((turn.reply, turn.stop, len(turn.tool_calls), turn.usage.output))
            seen.append(len(h.channel.sent))
            ran.set()
            raise ValueError("logged")

    async def go() -> None:
        await h.aopen()
        await h.channel.say("hello")
        await h.channel.replies(1)
        async with asyncio.timeout(5):
            await ran.wait()

    ran = asyncio.Event()
    h = harness(Watch, Hands, model=[[calls("look")], "a"], strict=False)
    h.run(go())
    assert seen == [("a", "done", 1, 10), 1], "after the reply has left"


def test_draining_waits_for_end_of_turn_hooks(harness: Make) -> None:
    seen: list[str] = []

    class Slow(Plugin[NoConfig]):
        @hookimpl
        async def end_of_turn(self, ctx: Any, turn: Turn) -> None:
            await asyncio.sleep(0.05)
            seen.append(turn.reply)

    async def go() -> None:
        await h.aopen()
        await h.channel.say("hello")
        await h.runtime.finish_background(10)
        await h.aclose()

    h = harness(Slow, model=["a"])
    h.run(go())
    assert seen == ["a"]


def test_hook_pre_reply(harness: Make) -> None:
    class Formats(Plugin[NoConfig]):
        @hookimpl
        async def pre_reply(self, ctx: Any, reply: Reply) -> Reply:
            return replace(reply, text=f"*{reply.text}*")

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def pre_reply(self, ctx: Any, reply: Reply) -> Reply:
            raise ValueError("that step is skipped")

    async def go() -> None:
        await h.aopen()
        await h.channel.say("hello", message_id="m7")
        await h.channel.replies(1)

    h = harness(Formats, Broken, model=["a", "b"], strict=False)
    assert h.send("x").text == "*a*"
    h.run(go())
    (reply,) = h.channel.sent
    assert (reply.text, reply.in_reply_to, reply.session.channel) == ("*b*", "m7", "fake")
    assert h.hooks["pre_reply"][0].event.text == "a"
    h.model.steps.append("c")
    h.send("y")
    assert h.model.last.messages[1].text == "a", "history keeps the model's own words"


def test_hook_on_question(harness: Make) -> None:
    seen: list[Question] = []

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def on_question(self, ctx: Any, question: Question) -> str:
            raise ValueError("the next one is asked")

    class Remembers(Plugin[NoConfig]):
        @hookimpl
        async def on_question(self, ctx: Any, question: Question) -> str | None:
            seen.append(question)
            assert question.call is not None
            return {"x": "Allow once", "y": "Deny"}.get(question.call.arguments["what"])

    class Guard(Plugin[NoConfig]):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
            return Ask("it changes things", f"act {call.arguments['what']}")

    script = [[calls("act", what=what) for what in "xyz"], "a"]
    h = harness(Broken, Remembers, Guard, Hands, model=script, strict=False)
    x, y, z = h.send("go").tool_calls
    assert x.text == "did x"
    assert y.text.startswith("Denied: ")
    assert z.text.startswith("Denied: "), "silence is a refusal"
    assert done(h) == ["act x"]
    question = seen[0]
    assert question.choices == ("Allow once", "Deny")
    assert (question.kind, question.preview) == ("approval", "act x")
    assert question.reason == "It changes things"
    assert [q.call.arguments for q in h.questions] == [{"what": "z"}], "passed on to the person"


# Learning


class Learns(Plugin[NoConfig]):
    """A plugin that remembers and reads when it is told to."""

    @tool
    async def keep(self, text: str) -> str:
        """Remember a text."""
        return await self.host.learn(text, "a tool", "note")

    @tool(read_only=True)
    async def open_file(self, text: str) -> str:
        """Read a text."""
        return await self.host.read(text, "notes.txt", "hint")


def test_hook_pre_learn(harness: Make) -> None:
    seen: list[Lesson] = []

    class Redacts(Plugin[NoConfig]):
        @hookimpl
        async def pre_learn(self, ctx: Any, lesson: Lesson) -> Any:
            seen.append(lesson)
            if "crash" in lesson.text:
                raise ValueError("a failing gate is a closed one")
            if "inject" in lesson.text:
                return Deny("it is an instruction")
            return replace(lesson, text=lesson.text.replace("secret", "[…]"))

    wanted = ["my secret", "inject this", "crash"]
    script = [[calls("keep", text=text) for text in wanted], "a"]
    h = harness(Redacts, Learns, model=script, strict=False)
    kept, refused, crashed = texts(h.send("go"))
    assert kept == "my […]"
    assert refused == "Denied: it is an instruction"
    assert crashed.startswith("Denied: ")
    assert seen[0] == Lesson("note", "a tool", "my secret")


def test_hook_pre_read(harness: Make) -> None:
    seen: list[Excerpt] = []

    class Scans(Plugin[NoConfig]):
        @hookimpl
        def pre_read(self, ctx: Any, excerpt: Excerpt) -> Any:
            seen.append(excerpt)
            if "crash" in excerpt.text:
                raise ValueError("a failing gate is a closed one")
            if "inject" in excerpt.text:
                return Deny("it holds an instruction")
            return replace(excerpt, text=f"<{excerpt.text}>")

    wanted = ["words", "inject", "crash"]
    script = [[calls("open_file", text=text) for text in wanted], "a"]
    h = harness(Scans, Learns, model=script, strict=False)
    read, refused, crashed = texts(h.send("go"))
    assert read == "<words>"
    assert refused == "Denied: it holds an instruction"
    assert crashed.startswith("Denied: ")
    assert Excerpt("hint", "notes.txt", "words") in seen


def test_pre_learn_and_pre_read_apply_outside_a_turn(harness: Make) -> None:
    class Closed(Plugin[NoConfig]):
        @hookimpl
        def pre_learn(self, ctx: Any, lesson: Lesson) -> Deny:
            return Deny("nothing today")

        @hookimpl
        def pre_read(self, ctx: Any, excerpt: Excerpt) -> Deny:
            return Deny("nothing today")

    async def go() -> None:
        await h.aopen()
        host = h.plugin(Learns).host
        with pytest.raises(Refused, match="nothing today"):
            await host.learn("x", "y", "note")
        with pytest.raises(Refused, match="nothing today"):
            await host.read("x", "y")

    h = harness(Closed, Learns)
    h.run(go())


def test_hook_pre_compact(harness: Make) -> None:
    seen: list[str] = []

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def pre_compact(self, ctx: Any, session: Session) -> None:
            raise ValueError("logged")

    class Saves(Plugin[NoConfig]):
        @hookimpl
        async def pre_compact(self, ctx: Any, session: Session) -> None:
            seen.append(session.id)

    async def go() -> None:
        runtime = await h.aopen()
        await runtime.bus.observe(
            "pre_compact", detached_context(runtime.engine), Session(*SESSION)
        )
        await asyncio.sleep(0)

    h = harness(Broken, Saves, strict=False)
    h.run(go())
    assert seen == ["s1"]
    assert h.hooks.order() == ["pre_compact"]


SESSION = ("s1", "terminal", "default", None, 0.0)


# Failure


def test_hook_on_error(harness: Make) -> None:
    seen: list[Failure] = []

    class Broken(Plugin[NoConfig]):
        @hookimpl
        def on_error(self, ctx: Any, error: Failure) -> None:
            raise ValueError("logged")

    class Watch(Plugin[NoConfig]):
        @hookimpl
        async def on_error(self, ctx: Any, error: Failure) -> None:
            seen.append(error)

    cause = Overloaded("The provider has no capacity; try again.")
    h = harness(Broken, Watch, model=[cause, RuntimeError("a fault inside"), "ok"], strict=False)
    assert h.send("x").text == str(cause)
    assert (seen[0].kind, seen[0].text, seen[0].exception) == ("overloaded", str(cause), cause)
    assert h.send("y").stop == "error"
    assert seen[1].kind == "internal"
    assert "a fault inside" in seen[1].text
    assert h.send("z").text == "ok"
    assert len(seen) == 2
