"""A runtime as it is installed: the standard set, journalling on, a home in a temporary folder.

The folder is made where ``TMPDIR`` says: a reply is on disk before it is shown, so the speed of
that disk is part of what is measured.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml
from hookline.cli.command_line import COLLECT_AFTER
from hookline.config import load
from hookline.runtime import Runtime
from hookline_hookspecs import Inbound, Plugin, tool
from hookline_hookspecs.plugin import NoConfig
from workload import QUESTION, bench_add


class Bench(Plugin[NoConfig]):
    """A plugin with one trivial tool that only reads."""

    @tool(read_only=True)
    def bench_add(self, left: int, right: int) -> str:
        """Add two whole numbers."""
        return bench_add(left, right)


def write_config(home: Path, wire: str, base_url: str, store: str = "sqlite") -> None:
    """A config.yaml that names the local server and leaves the standard set as it is."""
    provider = {"base_url": base_url, "api_key": "bench"}
    config: dict[str, Any] = {
        "model": f"{wire}/bench",
        "store": store,
        "providers": {wire: provider},
        "workspace": str(home / "work"),
        "plugins": {"bench": True},
    }
    (home / "work").mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


@asynccontextmanager
async def open_runtime(
    wire: str, base_url: str = "", store: str = "sqlite"
) -> AsyncIterator[Runtime]:
    """A running Hookline on a fresh home."""
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        home = Path(folder)
        write_config(home, wire, base_url, store)
        async with Runtime(load(home, {}), home, strict=False, classes={"bench": Bench}) as runtime:
            gc.freeze()  # as `hookline chat` and `hookline gateway` do once the runtime stands
            gc.set_threshold(COLLECT_AFTER)
            yield runtime


def inbound(session: str) -> Inbound:
    """The question, from a person, in a session."""
    return Inbound("terminal", "default", "bench", uuid4().hex, QUESTION, session_id=session)


async def run_turn(runtime: Runtime, session: str) -> str:
    """A whole turn: taken in, answered, delivered, its background hooks done.

    Raises:
        RuntimeError: the turn failed; the text is its reply.
    """
    submission = await runtime.dispatcher.submit(inbound(session), "no")
    await submission.mark_delivered()
    turn = submission.turn
    if turn.stop != "done":
        raise RuntimeError(f"a turn ended with {turn.stop}: {turn.reply}")
    return turn.reply
