"""A platform that answers 429 for a while: everything is delivered once, and never too early."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .platform import TAKEN, Message
from .result import Result
from .stage import Stage, judge, stage
from .wire import Answer

RETRY_AFTER = 1
"""Seconds that the platform asks for."""


@dataclass
class Limits:
    """``storm``: seconds for which nothing is taken; then every second reply, for as long."""

    messages: int = 60
    chats: int = 20
    storm: float = 1.5


SHORT = Limits()
LONG = Limits(messages=2000, chats=100, storm=30.0)


async def run(seed: int, much: Limits) -> Result:
    """Run the scenario."""
    result = Result("limits")
    async with stage(seed) as on:
        await on.node.start()
        refused: list[tuple[float, str]] = []
        begin = time.monotonic()

        def behave(reply: Mapping[str, Any]) -> Answer:
            passed = time.monotonic() - begin
            if passed < much.storm or (passed < 2 * much.storm and on.seed.random() < 0.5):
                refused.append((time.monotonic(), reply["id"]))
                return 429, {"Retry-After": str(RETRY_AFTER)}
            return TAKEN

        on.platform.behave = behave
        messages = [
            Message(f"m{n}", f"c{on.seed.randrange(much.chats)}", f"[m{n}] hello")
            for n in range(much.messages)
        ]
        await on.platform.deliver_all(messages)
        await on.platform.answered(messages)
        result.note("messages", len(messages))
        result.note("replies refused with 429", len(refused))
        result.note("last reply after", f"{time.monotonic() - begin:.0f} s")
        result.must("exit code after SIGTERM", await on.node.stop(), 0)
        result.none("replies sent before Retry-After had passed", _too_early(on, refused))
        judge(result, on, messages, [])
    return result


def _too_early(on: Stage, refused: list[tuple[float, str]]) -> list[str]:
    posts: dict[str, list[float]] = {}
    for post in on.platform.posts:
        posts.setdefault(post.body["id"], []).append(post.at)
    return [
        id_
        for at, id_ in refused
        if any(at + 0.001 < again < at + RETRY_AFTER * 0.99 for again in posts[id_])
    ]
