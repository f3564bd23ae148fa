"""The setup of every scenario: a platform, a model and a node."""

from __future__ import annotations

import itertools
import logging
import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .model import Model
from .node import Node, Sample
from .platform import Message, Platform, Post
from .result import Result


@dataclass
class Stage:
    """The three, and where dice are thrown."""

    seed: random.Random
    platform: Platform
    model: Model
    node: Node
    samples: list[Sample] = field(default_factory=list)
    """Looks at the gateway's process, where a scenario takes some."""


@asynccontextmanager
async def stage(
    seed: int, *, standard: bool = False, folder: Path | None = None, **model: Any
) -> AsyncIterator[Stage]:
    """Set everything up in a temporary folder (or ``folder``), and leave nothing running."""
    dice = random.Random(seed)
    # It warns of each write to a connection whose gateway was killed.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="hookline-reliability-") as made:
        platform, brain = Platform(), Model(dice, **model)
        async with platform.up():
            with brain.up():
                node = Node(folder or Path(made), platform.url, brain.base_url, standard)
                platform.port = node.port
                try:
                    yield Stage(dice, platform, brain, node)
                finally:
                    node.close()


def judge(result: Result, on: Stage, messages: list[Message], kills: list[float]) -> None:
    """Check all invariants of a working disk. ``kills``: when (``time.monotonic``)."""
    judge_replies(result, on, messages)
    _judge_sent_again(result, on.platform, kills)
    _judge_calls(result, on.model, kills)


def judge_replies(
    result: Result, on: Stage, messages: list[Message], *, failed: bool = False
) -> None:
    """Check that no reply is lost, doubled, mixed up or out of order.

    ``failed``: the disk did, so a turn may end in an error, and its message may wait for a restart
    while later ones are answered.
    """
    platform, node = on.platform, on.node
    turns = node.turns()
    result.none("lost messages", [m.id for m in messages if m.id not in platform.answers])
    wrong = {m.id: turns.get(m.id, 0) for m in messages if turns.get(m.id) != 1}
    result.none("messages with other than one turn", [f"{id_}: {n}" for id_, n in wrong.items()])
    twice = [m.id for m in messages if len(platform.answers.get(m.id, ())) > 1]
    result.none("messages with two different replies", twice)
    chats = {message.id: message.chat for message in messages}
    mine = [p for p in platform.shown.values() if p.body["in_reply_to"] in chats]
    crossed = [p for p in mine if p.body["chat"] != chats[p.body["in_reply_to"]]]
    result.none("replies in another chat", [p.body["in_reply_to"] for p in crossed])
    odd = [p for p in mine if not _answers(p)]
    if failed:
        said = [p for p in odd if str(p.body["text"]).startswith("answer to")]
        result.none("messages with another message's answer", [_in_reply(p) for p in said])
        result.note("messages answered with an error", len(odd) - len(said))
        result.note("pairs of a chat out of order", len(platform.out_of_order(messages)))
    else:
        result.none("replies that say something else", [p.body["text"][:60] for p in odd])
        result.none("pairs of a chat out of order", platform.out_of_order(messages))
    written = Counter(node.ledger())
    result.none("tool runs beyond one a message", [i for i, n in written.items() if n > 1])
    result.none("prompts with another chat's secret", on.model.crossed)
    result.must("posts with a wrong signature", platform.unsigned, 0)
    result.must("database", "whole" if node.is_whole() else "damaged", "whole")


def _in_reply(post: Post) -> str:
    return str(post.body["in_reply_to"])


def _answers(post: Post) -> bool:
    said, _, rest = str(post.body["text"]).partition(str(post.body["in_reply_to"]))
    return said == "answer to " and not rest[:1].isdigit()


def _judge_sent_again(result: Result, platform: Platform, kills: list[float]) -> None:
    after_break, after_told = platform.sent_again()
    result.note("replies sent again with the same id, after a broken connection", len(after_break))
    result.note("replies sent again with the same id, after a 2xx and a kill", len(after_told))
    told = {id_: post.at for id_, post in platform.shown.items()}
    without = [p.body["id"] for p in after_told if not _between(kills, told[p.body["id"]], p.at)]
    result.none("replies sent again after a 2xx without a kill", without)


def _judge_calls(result: Result, model: Model, kills: list[float]) -> None:
    """A model call is made again only where the process was killed inside it."""
    explained: list[float] = []
    unexplained: list[str] = []
    for (id_, step), times in model.calls.items():
        for before, again in itertools.pairwise(times):
            between = [kill for kill in kills if before <= kill <= again]
            if between:
                explained.append(between[0] - before)
            else:
                unexplained.append(f"{id_} step {step}")
    result.note("model calls made again after a kill", len(explained))
    result.note("longest of them, from request to kill", f"{max(explained, default=0):.2f} s")
    result.none("model calls made again without a kill", unexplained)


def _between(kills: list[float], start: float, end: float) -> bool:
    return any(start <= kill <= end for kill in kills)
