"""The platform: delivers messages until they are accepted, and accepts replies."""

from __future__ import annotations

import asyncio
import hmac
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from .wire import HEADER, PATIENCE, Answer, Line, Server, signature

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TAKEN: Answer = (200, {})


@dataclass
class Message:
    """A message of a person, and what became of its deliveries (``time.monotonic``)."""

    id: str
    chat: str
    text: str
    first_sent: float = 0.0
    taken: float = 0.0
    refused: int = 0

    @property
    def body(self) -> bytes:
        """What is posted. Each chat has a user of its own, so it is a private one."""
        fields = {"id": self.id, "chat": self.chat, "user": self.chat, "text": self.text}
        return json.dumps(fields).encode()


@dataclass(frozen=True)
class Post:
    """A reply as it was posted. ``taken``: the platform has shown it; ``told``: and said so."""

    at: float
    body: Mapping[str, Any]
    taken: bool
    told: bool


Behaviour: TypeAlias = Callable[[Mapping[str, Any]], Answer]
"""What a reply is answered with; None hangs up after the body was taken."""


def always(_reply: Mapping[str, Any]) -> Answer:
    """Take every reply."""
    return TAKEN


def moody(seed: random.Random, share: float) -> Behaviour:
    """Fail in this share of the cases: 429 with Retry-After, 5xx, or a connection that breaks."""
    faults: tuple[Answer, ...] = (
        *((429, {"Retry-After": "1"}), (429, {"Retry-After": "0"})),
        *((500, {}), (503, {}), None),
    )
    return lambda _reply: seed.choice(faults) if seed.random() < share else TAKEN


@dataclass
class Platform:
    """Both ends of the channel. ``port`` is where the gateway listens."""

    behave: Behaviour = always
    port: int = 0
    url: str = ""
    posts: list[Post] = field(default_factory=list)
    retry: float = 0.03
    """Seconds until a message that was not taken is delivered again."""
    unsigned: int = 0
    shown: dict[str, Post] = field(default_factory=dict)
    """Replies by id, as they were first taken."""
    answers: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Ids of the replies by the message they answer."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def up(self) -> AsyncIterator[Platform]:
        """Take replies for as long as the context lasts."""
        async with Server(self._reply) as server:
            self.url = f"http://127.0.0.1:{server.port}/replies"
            yield self

    async def _reply(self, headers: Mapping[str, str], body: bytes) -> Answer:
        if not hmac.compare_digest(headers.get(HEADER.lower(), ""), signature(body)):
            self.unsigned += 1
            return 401, {}
        reply = json.loads(body)
        answer = self.behave(reply)
        taken = answer is None or answer[0] < 300
        post = Post(time.monotonic(), reply, taken, answer is not None and taken)
        self.posts.append(post)
        if taken and reply["id"] not in self.shown:
            self.shown[reply["id"]] = post
            self.answers[str(reply["in_reply_to"])].append(reply["id"])
        self.changed.set()
        return answer

    async def deliver(self, line: Line, message: Message) -> None:
        """Deliver a message until it is taken."""
        message.first_sent = message.first_sent or time.monotonic()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                status = await line.post(message.body)
            except OSError:
                status = 0
            if status == 202:
                message.taken = message.taken or time.monotonic()
                return
            message.refused += 1
            await asyncio.sleep(self.retry)
        raise TimeoutError(f"message {message.id} was not taken in {PATIENCE:g} s")

    async def deliver_all(
        self, messages: list[Message], workers: int = 16, pause: Callable[[], float] = lambda: 0.0
    ) -> None:
        """Deliver messages in this order, so many at the same time, with pauses (s) between."""
        waiting = iter(messages)

        async def work() -> None:
            line = Line(self.port)
            try:
                for message in waiting:
                    await self.deliver(line, message)
                    await asyncio.sleep(pause())
            finally:
                line.close()

        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())

    async def answered(self, messages: list[Message], patience: float = PATIENCE) -> list[Message]:
        """Wait for replies until all are there, or none has come for so long; those without."""
        missing = [message for message in messages if message.id not in self.answers]
        while missing:
            self.changed.clear()
            try:
                async with asyncio.timeout(patience):
                    while len(missing) == len([m for m in missing if m.id not in self.answers]):
                        self.changed.clear()
                        await self.changed.wait()
            except TimeoutError:
                break
            await asyncio.sleep(0.01)
            missing = [message for message in missing if message.id not in self.answers]
        return missing

    def sent_again(self) -> tuple[list[Post], list[Post]]:
        """Posts of a reply that had been taken before: those after a broken connection, and
        those after a 2xx."""
        state: dict[str, bool] = {}
        after_break: list[Post] = []
        after_told: list[Post] = []
        for post in self.posts:
            id_ = post.body["id"]
            if id_ in state:
                (after_told if state[id_] else after_break).append(post)
            if post.taken:
                state[id_] = state.get(id_, False) or post.told
        return after_break, after_told

    def out_of_order(self, messages: list[Message]) -> list[tuple[str, str]]:
        """Pairs of one chat, the first acknowledged before the second was first sent, whose
        replies came the other way round."""
        chats: dict[str, list[Message]] = defaultdict(list)
        for message in messages:
            if message.id in self.answers:
                chats[message.chat].append(message)
        wrong = []
        for chat in chats.values():
            for first in chat:
                for second in chat:
                    if 0 < first.taken < second.first_sent and self._at(first) > self._at(second):
                        wrong.append((first.id, second.id))
        return wrong

    def _at(self, message: Message) -> float:
        return self.shown[self.answers[message.id][0]].at
