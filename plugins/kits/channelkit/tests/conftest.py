"""A strict platform that outlives its clients, a client to it, and channels in a real core."""

from __future__ import annotations

import asyncio
import html
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, ScriptedModel
from hookline_channelkit import (
    UNKNOWN,
    BadMarkup,
    ChannelOptions,
    ChatGone,
    DeliveryUnknown,
    InboundEvent,
    Limits,
    MessageGone,
    MessageTooLong,
    NetworkChannel,
    NotModified,
    PlatformClient,
    ReceiveCallback,
    RemoteFile,
    Renderer,
    RetryAfter,
    SendOptions,
    length_function,
    render_markdown,
)
from hookline_hookspecs import (
    Attachment,
    Audio,
    Channel,
    Delta,
    DeltaSink,
    Host,
    Inbound,
    ModelResponse,
    Plugin,
    WireRequest,
    hookimpl,
)
from hookline_hookspecs.plugin import NoConfig

PATIENCE = 60.0
"""Seconds until a test gives up; none waits for it to pass."""
MARK = "(may be a repeat)"
SMALL = Limits(text=120, unit="utf16", edit_every=0.04, per_chat=20, overall=500, file_bytes=10_000)


class Stars(Renderer):
    """A dialect in which bold words stand between ⟦ and ⟧, which have to be balanced."""

    def text(self, raw: str) -> str:
        return raw.replace("⟦", "[").replace("⟧", "]")

    def bold(self, inner: str) -> str:
        return f"⟦{inner}⟧"

    def code(self, raw: str) -> str:
        return self.text(raw)

    def fence(self, raw: str, language: str) -> str:
        return self.text(f"```{language}\n{raw}\n```")

    def italic(self, inner: str) -> str:
        return inner

    strike = quote = italic

    def link(self, inner: str, url: str) -> str:
        return f"{inner} <{html.escape(url)}>"


@dataclass
class ShownMessage:
    """A message as people see it. ``texts`` is all that it ever said."""

    id: str
    chat: str
    text: str
    rich: bool = True
    choices: tuple[str, ...] = ()
    reply_to: str | None = None
    file: Attachment | Audio | None = None
    texts: list[str] = field(default_factory=list)
    changed: float = 0.0
    token: str = ""
    sequence: int = 0


class Platform:
    """Keeps messages. ``faults`` says what goes wrong, by the number of the request."""

    def __init__(self, limits: Limits = SMALL) -> None:
        self.limits = limits
        self.shown: dict[str, ShownMessage] = {}
        self.requests: list[tuple[str, str]] = []
        self.faults: dict[int, str] = {}
        self.fault: Callable[[str, str, str], str | None] = lambda *_: None
        self.gone: set[str] = set()
        self.refused: list[str] = []
        self.typed: list[str] = []
        self.finds = False
        """Whether it can be asked what became of a message."""
        self.looked_up: list[tuple[str, str]] = []
        self.written: dict[str, list[InboundEvent]] = {}
        """What people wrote, by chat; a client ``has_history`` where this is not empty."""
        self.history_fault: Callable[[str], Exception | None] = lambda _: None
        self.read: list[tuple[str, str]] = []
        """Chats whose history was read, and from where."""
        self.files: dict[str, bytes | Exception] = {}
        self.fetched: list[str] = []
        self.menus: list[dict[str, str]] = []
        self.unbuttoned: list[str] = []
        self.killed = asyncio.Event()
        self.changed = asyncio.Event()
        self._last: dict[str, float] = {}
        self._count = 0

    def chat(self, chat: str) -> list[ShownMessage]:
        """What people see in a chat, in the order in which it came."""
        return [one for one in self.shown.values() if one.chat == chat]

    def texts(self, chat: str) -> list[str]:
        return [one.text for one in self.chat(chat)]

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait until the condition holds, or a client is killed."""
        async with asyncio.timeout(PATIENCE):
            while not ready() and not self.killed.is_set():
                self.changed.clear()
                await asyncio.wait(
                    [
                        asyncio.ensure_future(self.changed.wait()),
                        asyncio.ensure_future(self.killed.wait()),
                    ],
                    return_when=asyncio.FIRST_COMPLETED,
                )

    def old(self, chat: str, text: str, cursor: int) -> None:
        """Make an old message."""
        said = Inbound("", chat, "ann", f"{chat}:{cursor}", text, sent=time.time() - 86_400)
        self.written.setdefault(chat, []).append(InboundEvent(said, cursor=str(cursor)))

    async def request(self, name: str, chat: str, text: str, act: Callable[[], Any]) -> Any:
        """One request with what may go wrong before and after its effect."""
        if self.killed.is_set():
            raise asyncio.CancelledError  # a dead process asks for nothing
        self.requests.append((name, chat))
        fault = self.faults.pop(len(self.requests), None) or self.fault(name, chat, text)
        if fault is not None:
            self.refused.append(fault)
        match fault:
            case "kill before":
                await self._kill()
            case "away":
                raise ConnectionError("the platform is away")
            case "slow down":
                raise RetryAfter(0.05)
            case "bad markup":
                raise BadMarkup("can't parse entities")
            case "lost" if name == "edit":
                raise MessageGone("message to edit not found")
        self._judge(name, chat, text)
        await asyncio.sleep(0)
        made = act()
        self.changed.set()
        match fault:
            case "kill after":
                await self._kill()
            case "no answer" if name in ("text", "file"):
                raise DeliveryUnknown("the connection broke")
            case "no answer":
                raise ConnectionError("the connection broke")
        return made

    async def _kill(self) -> None:
        self.killed.set()
        raise asyncio.CancelledError

    def _judge(self, name: str, chat: str, text: str) -> None:
        """Refuse what a real platform refuses."""
        now = asyncio.get_running_loop().time()
        if chat in self.gone:
            raise ChatGone("the bot was blocked by the user")
        if (
            self.limits.measure is None
            and length_function(self.limits.unit)(text) > self.limits.text
        ):
            raise MessageTooLong("message is too long")
        if name != "file" and not text.strip():
            raise AssertionError("a message without text")
        rate = self.limits.per_chat if name != "find" else 0
        if rate and now - self._last.get(chat, 0) < 0.5 / rate:
            self.refused.append("too fast")
            raise RetryAfter(0.05)
        if name != "find":
            self._last[chat] = now

    def markup(self, text: str, rich: bool) -> None:
        if rich and text.count("⟦") != text.count("⟧"):
            raise BadMarkup("can't find the end of bold")

    def add(self, chat: str, text: str, post: SendOptions, **more: Any) -> str:
        self._count += 1
        more |= {"rich": post.rich, "choices": post.choices, "reply_to": post.reply_to}
        made = ShownMessage(f"p{self._count}", chat, text, texts=[text], token=post.token, **more)
        made.changed = asyncio.get_running_loop().time()
        self.shown[made.id] = made
        return made.id

    def change(self, id_: str, text: str, post: SendOptions) -> None:
        now = asyncio.get_running_loop().time()
        if id_ not in self.shown:
            raise MessageGone("message to edit not found")
        one = self.shown[id_]
        if now - one.changed < self.limits.edit_every * 0.5:
            self.refused.append("edited too fast")
            raise RetryAfter(0.05)
        if (one.text, one.choices) == (text, post.choices):
            raise NotModified("message is not modified")
        if post.sequence <= one.sequence:
            raise AssertionError(f"sequence {post.sequence} after {one.sequence}")
        one.text, one.rich, one.choices, one.changed = text, post.rich, post.choices, now
        one.sequence = post.sequence
        one.texts.append(text)


class FakeClient(PlatformClient):
    """A client of the platform."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.limits = platform.limits
        self.receive: ReceiveCallback | None = None
        self.log: list[str] = []
        self.probe_fault: Exception | None = None
        self.connect_fault: Exception | None = None

    async def connect(self, receive: ReceiveCallback) -> None:
        self.log.append("connect")
        if self.connect_fault is not None:
            raise self.connect_fault
        self.receive = receive

    async def disconnect(self) -> None:
        self.log.append("disconnect")
        self.receive = None

    async def aclose(self) -> None:
        self.log.append("aclose")

    async def probe(self) -> None:
        self.log.append("probe")
        if self.probe_fault is not None:
            raise self.probe_fault

    async def send_text(self, chat: str, text: str, post: SendOptions) -> str:
        def act() -> str:
            self.platform.markup(text, post.rich)
            return self.platform.add(chat, text, post)

        return str(await self.platform.request("text", chat, text, act))

    async def edit_message(self, chat: str, message_id: str, text: str, post: SendOptions) -> None:
        def act() -> None:
            self.platform.markup(text, post.rich)
            self.platform.change(message_id, text, post)

        await self.platform.request("edit", chat, text, act)

    async def delete_message(self, chat: str, message_id: str) -> None:
        def act() -> None:
            if self.platform.shown.pop(message_id, None) is None:
                raise MessageGone("message to delete not found")

        await self.platform.request("delete", chat, "x", act)

    async def send_file(self, chat: str, item: Attachment | Audio, post: SendOptions) -> str:
        def act() -> str:
            return self.platform.add(chat, post.caption, post, file=item)

        return str(await self.platform.request("file", chat, post.caption, act))

    async def find_message(self, chat: str, token: str, text: str, since: float) -> Any:
        if not self.platform.finds:
            return UNKNOWN

        def act() -> str | None:
            self.platform.looked_up.append((token, text))
            found = (one.id for one in self.platform.chat(chat) if one.token == token)
            return next(found, None)

        return await self.platform.request("find", chat, "x", act)

    @property
    def has_history(self) -> bool:  # type: ignore[override]
        return bool(self.platform.written)

    async def list_chats(self) -> list[str]:
        return sorted(self.platform.written)

    async def history(self, chat: str, after: str, since: float) -> AsyncIterator[InboundEvent]:
        self.platform.read.append((chat, after))
        for arrival in list(self.platform.written.get(chat, [])):
            if (fault := self.platform.history_fault(chat)) is not None:
                raise fault
            place = float(arrival.cursor)
            if place > float(after) if after else arrival.inbound.sent >= since:
                await asyncio.sleep(0)
                yield arrival

    async def fetch_file(self, file: RemoteFile) -> bytes:
        self.platform.fetched.append(file.ref)
        found = self.platform.files[file.ref]
        if isinstance(found, Exception):
            raise found
        return found

    async def set_commands(self, commands: Mapping[str, str]) -> None:
        self.platform.menus.append(dict(commands))

    async def remove_buttons(self, chat: str, message_id: str) -> None:
        self.platform.unbuttoned.append(message_id)

    async def show_typing(self, chat: str) -> None:
        self.platform.typed.append(chat)
        if self.platform.fault("typing", chat, "") is not None:
            raise ConnectionError("the platform is away")

    def render(self, markdown: str) -> str:
        return render_markdown(markdown, Stars())


def pigeon(platform: Platform, **options: Any) -> type[Plugin[Any]]:
    """A plugin that brings a channel to the platform."""

    class Pigeon(Plugin[NoConfig]):
        def __init__(self, config: NoConfig, host: Host) -> None:
            super().__init__(config, host)
            self.client = FakeClient(platform)
            self.channel = NetworkChannel(host, self.client, ChannelOptions(**options))

        @hookimpl
        async def teardown(self, host: Host) -> None:
            await self.channel.aclose()

        @hookimpl
        def register_channels(self, register: Callable[[Channel], None]) -> None:
            register(self.channel)

    return Pigeon


class Speaker(ScriptedModel):
    """Answers each message with what ``answers`` holds for it, word by word."""

    def __init__(
        self, answers: dict[str, Any], pause: float = 0.005, *, echo: bool = False
    ) -> None:
        super().__init__()
        self.answers, self.pause, self.echo = answers, pause, echo
        self.held = asyncio.Event()
        self.held.set()

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        request = wire.stable.request  # type: ignore[attr-defined]
        asked = request.messages[-1].text
        self.requests.append(request)
        if self.echo:
            return self._response(f"{asked}!")
        step = self.answers.get(asked, self.answers.get(""))
        step = step.pop(0) if isinstance(step, list) and len(step) > 1 else step
        response = self._response(step[0] if isinstance(step, list) else step)
        words = response.text.split(" ")
        for place, word in enumerate(words):
            if on_delta is not None:
                on_delta(Delta(word + (" " if place < len(words) - 1 else "")))
            await asyncio.sleep(self.pause)
            if place == len(words) // 2:
                await self.held.wait()
        return response


class ChannelProcess:
    """A process with the channel; ``again`` is the next one on the same home and platform."""

    def __init__(
        self, home: Path, platform: Platform, model: ScriptedModel, *plugins: Any, **options: Any
    ) -> None:
        self.platform, self.model, self._home, self._more = (
            platform,
            model,
            home,
            (plugins, options),
        )
        self._kind = pigeon(platform, **options)
        self.harness = Harness(
            self._kind, *plugins, home=home, model=model, config={}, strict=False
        )

    @property
    def kit(self) -> NetworkChannel:
        found: NetworkChannel = self.harness.plugin(self._kind).channel
        return found

    @property
    def client(self) -> FakeClient:
        found: FakeClient = self.harness.plugin(self._kind).client
        return found

    async def open(self) -> ChannelProcess:
        runtime = await self.harness.aopen()
        await runtime.gateway_host.recover()  # first, as the gateway does
        await self.kit.start()
        return self

    async def beside(self) -> ChannelProcess:
        """Another process on the home, which runs at the same time."""
        plugins, options = self._more
        return await ChannelProcess(
            self._home, self.platform, self.model, *plugins, **options
        ).open()

    async def again(self) -> ChannelProcess:
        """Kill this one, by taking away whatever runs, and start the next."""
        await self.harness.aclose()
        self.platform.killed = asyncio.Event()
        plugins, options = self._more
        return await ChannelProcess(
            self._home, self.platform, self.model, *plugins, **options
        ).open()

    async def say(self, id_: str, chat: str = "c", text: str = "", **more: Any) -> bool:
        assert self.client.receive is not None
        return await self.client.receive(Inbound("pigeon", chat, "ann", id_, text or id_, **more))

    async def receive(self, arrival: InboundEvent) -> bool:
        """The platform delivers."""
        assert self.client.receive is not None
        return await self.client.receive(arrival)

    async def write(self, chat: str, text: str, cursor: int, **more: Any) -> InboundEvent:
        """Somebody writes; it is not delivered, and stands in the history."""
        said = Inbound("", chat, "ann", f"{chat}:{cursor}", text, sent=time.time(), **more)
        made = InboundEvent(said, cursor=str(cursor))
        self.platform.written.setdefault(chat, []).append(made)
        return made

    async def idle(self) -> None:
        """Wait until all is delivered, or the process is killed."""
        runtime = await self.harness.aopen()
        work = asyncio.ensure_future(runtime.finish_background(PATIENCE))
        dead = asyncio.ensure_future(self.platform.killed.wait())
        await asyncio.wait([work, dead], return_when=asyncio.FIRST_COMPLETED)
        for task in (work, dead):
            task.cancel()
        await asyncio.gather(work, dead, return_exceptions=True)

    async def records(self) -> list[str]:
        """What the kit has left in the store of work that is done."""
        found = await self.kit.host.storage.kv.keys()
        return [key for key in found if key.startswith(("sent:", "stream:"))]

    async def close(self) -> None:
        await self.harness.aclose()


async def until(is_so: Callable[[], Any]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.01)


@pytest.fixture
def platform() -> Platform:
    return Platform()


@pytest.fixture
async def start_channel(tmp_path: Path) -> Any:
    """Start channels: ``await start_channel(platform, {"hi": "answer"})``."""
    made: list[ChannelProcess] = []

    async def make(
        platform: Platform, answers: dict[str, Any], *plugins: Any, **more: Any
    ) -> ChannelProcess:
        speaker = Speaker(answers, more.pop("pause", 0.005), echo=more.pop("echo", False))
        one = ChannelProcess(tmp_path / f"h{len(made)}", platform, speaker, *plugins, **more)
        made.append(one)
        return await one.open()

    yield make
    for one in made:
        await one.close()
