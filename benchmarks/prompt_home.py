"""A Hookline on a home of its own that runs turns of the priced session."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from hookline.config import load
from hookline.runtime import Runtime
from hookline_hookspecs import (
    Context,
    ContextBlock,
    Inbound,
    Plugin,
    Section,
    Session,
    Turn,
    hookimpl,
)
from prompt_workload import FILES, TURNS, skill_text
from pydantic import BaseModel

MODELS = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-5"}
SESSION = "priced"
PADDING = "This stands for what the other plugins say. "


class BenchSettings(BaseModel):
    """``skills``: inject the matching ones; ``padding``: characters added to the guidance."""

    skills: bool = False
    padding: int = 0


class Bench(Plugin[BenchSettings]):
    """Stands for matched skills, and for the sections of plugins that are not installed."""

    @hookimpl
    def system_prompt(self, ctx: Context, session: Session) -> Section | None:
        """Make the stable tier as large as asked for."""
        if not self.config.padding:
            return None
        return Section("guidance", (PADDING * self.config.padding)[: self.config.padding])

    @hookimpl
    def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """The skills of this turn, except those whose text is still replayed."""
        if not self.config.skills:
            return None
        names = next(step.skills for step in TURNS if step.says == turn.inbound.text)
        replayed = "".join(message.context for message in ctx.history)
        fresh = [name for name in names if f'<skill name="{name}">' not in replayed]
        items = tuple((name, skill_text(name)) for name in fresh)
        return ContextBlock("skills", items=items, item_tag="skill") if items else None


def make_home(home: Path, base_url: str, settings: BenchSettings, wire: str) -> None:
    """A config with the standard set as it is, and a workspace with a few files beside it."""
    home.mkdir()
    work = make_work(home)
    config: dict[str, Any] = {
        "model": MODELS[wire],
        "providers": {wire: {"base_url": base_url, "api_key": "bench"}},
        "workspace": str(work),
        "plugins": {"bench": settings.model_dump()},
    }
    (home / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def make_work(home: Path) -> Path:
    """The workspace beside ``home`` as it is before the session."""
    work = home.with_name("work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text, encoding="utf-8")
    return work


@asynccontextmanager
async def open_runtime(home: Path) -> AsyncIterator[Runtime]:
    """A running Hookline on ``home``."""
    async with Runtime(load(home, {}), home, strict=False, classes={"bench": Bench}) as runtime:
        yield runtime


async def run_turn(runtime: Runtime, number: int, session: str = SESSION) -> None:
    """Turn ``number`` from 0 of a session, to its end, background hooks included.

    Raises:
        RuntimeError: it failed, or one of its tools did; the text says how.
    """
    message, says = f"{session}-{number}", TURNS[number].says
    inbound = Inbound("terminal", "default", "bench", message, says, session_id=session)
    submission = await runtime.dispatcher.submit(inbound, "yes")
    await submission.mark_delivered()
    await runtime.finish_background(30.0)
    turn = submission.turn
    if turn.stop != "done":
        raise RuntimeError(f"turn {number} ended with {turn.stop}: {turn.reply}")
    failed = [result.text for result in turn.tool_calls if not result.ok]
    if failed:
        raise RuntimeError(f"in turn {number} a tool did not do its work: {failed[0]}")
