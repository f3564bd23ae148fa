"""A plugin for the harness: a tool that leaves a trace, one that inspects the process."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hookline_hookspecs import Plugin, tool
from hookline_hookspecs.plugin import NoConfig


class Ledger(Plugin[NoConfig]):
    """Tools of the harness."""

    @tool
    def append(self, line: str) -> str:
        """Add a line to the ledger."""
        with Path("ledger.log").open("a") as log:
            log.write(f"{line}\n")
        return f"wrote {line}"

    @tool(read_only=True)
    async def inner_life(self) -> str:
        """Count the tasks of the event loop."""
        return f"tasks={len(asyncio.all_tasks())}"
