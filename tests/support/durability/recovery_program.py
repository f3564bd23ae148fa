"""A process on a shared home that leaves messages behind, or answers those left.

``python recovering.py HOME leave`` receives messages and dies; ``python recovering.py HOME answer``
says that it is ready, and recovers once a line comes in.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from hookline.config import load
from hookline.runtime import Runtime
from hookline.testing.channel import FakeChannel
from hookline.testing.model import ScriptedModel
from hookline_hookspecs import Inbound, Reply

CHATS, MESSAGES = 8, 6


class Log(FakeChannel):
    """Appends what each reply answers to a file that processes share."""

    def __init__(self, runtime: Runtime, file: Path) -> None:
        super().__init__(runtime)
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def send(self, reply: Reply) -> str | None:
        os.write(self._file, f"{reply.in_reply_to}\n".encode())
        return await super().send(reply)


async def leave(runtime: Runtime) -> None:
    """Receive the messages of each chat in their order, and die before any is answered.

    Every other chat names its session, as the page does.
    """
    for number in range(MESSAGES):
        for chat in range(CHATS):
            name, session = f"c{chat}", f"s{chat}" if chat % 2 else None
            inbound = Inbound("fake", name, "person", f"{name}-{number}", "hi", session_id=session)
            await runtime.dispatcher.receive(replace(inbound, received=time.time()))
    os._exit(0)


async def answer(runtime: Runtime) -> None:
    """Recover at the word, and again until nothing is left."""
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        await runtime.gateway_host.recover()
        await runtime.finish_background(30)
        if not await runtime.engine.journal.open_inbox():
            break


async def main(home: Path, what: str) -> None:
    """Be one process."""
    loaded = replace(load(home, {}, {"model": "test/model", "workspace": str(home)}), plugins={})
    async with Runtime(loaded, home) as runtime:
        model = ScriptedModel(["."] * CHATS * MESSAGES)
        if what == "leave":
            model.send = lambda *_: asyncio.Event().wait()  # type: ignore[method-assign,assignment]
        runtime.engine.providers.add("test", model)
        runtime.channels.register(Log(runtime, home / "sent.log"), "test")
        await (leave if what == "leave" else answer)(runtime)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
