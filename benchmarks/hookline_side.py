"""Hookline: the turns of a job over a runtime, in one process, with everything that is standard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import perf_counter, process_time
from typing import Any
from uuid import uuid4

from hookline.runtime import Runtime
from hookline_home import open_runtime, run_turn
from hookline_hookspecs import Message
from instant import InstantModel
from worker import Sample, timed, work
from workload import history

HISTORY_SESSION = "bench-history"
"""The session that has a history."""


async def write_history(runtime: Runtime, messages: int) -> None:
    """Begin the session with a turn, then store ``messages`` more messages."""
    await run_turn(runtime, HISTORY_SESSION)
    state = runtime.sessions.loaded(HISTORY_SESSION)
    assert state is not None
    turn = state.history[-1].turn_id
    said = enumerate(history(messages), state.next_seq)
    writes = [
        runtime.engine.journal.append_message(HISTORY_SESSION, turn, seq, _message(role, text))
        for seq, (role, text) in said
    ]
    await asyncio.gather(*writes)
    # The next turn reads it from the store, as a process that was started again does.
    runtime.sessions.evict(HISTORY_SESSION)


def _message(role: str, text: str) -> Message:
    return Message.assistant(text) if role == "assistant" else Message.user(text)


async def stable_prompt(runtime: Runtime) -> Mapping[str, Any]:
    """System prompt and tool schemas, for the other side to send the same."""
    session = uuid4().hex
    await run_turn(runtime, session)
    state = runtime.sessions.loaded(session)
    assert state is not None
    tools = [
        {"name": t.name, "description": t.description, "parameters": dict(t.parameters)}
        for t in state.stable.tools
    ]
    return {"system": state.stable.system, "tools": tools}


async def one_after_another(runtime: Runtime, job: Mapping[str, Any]) -> Mapping[str, float]:
    """Turns, each in a session of its own, or all in the one with a history.

    Also gives what they took up to their replies, without what follows a reply.
    """
    found = {"seconds": 0.0, "cpu": 0.0, "reply_seconds": 0.0, "reply_cpu": 0.0}
    for _ in range(job["turns"]):
        start, used = perf_counter(), process_time()
        await run_turn(runtime, HISTORY_SESSION if job["history"] else uuid4().hex)
        found["reply_seconds"] += perf_counter() - start
        found["reply_cpu"] += process_time() - used
        await runtime.finish_background(10.0)
        found["seconds"] += perf_counter() - start
        found["cpu"] += process_time() - used
    return {what: amount / job["turns"] for what, amount in found.items()}


async def side_by_side(runtime: Runtime, job: Mapping[str, Any]) -> None:
    """New sessions, all at once, each with turns one after the other."""

    async def session() -> None:
        name = uuid4().hex
        for _ in range(job["turns"]):
            await run_turn(runtime, name)

    await asyncio.gather(*(session() for _ in range(job["sessions"])))
    await runtime.finish_background(10.0)


@asynccontextmanager
async def side(job: Any) -> AsyncIterator[tuple[Mapping[str, Any], Sample]]:
    """Prepare a job; see :mod:`measures` for its fields."""
    async with open_runtime(job["wire"], job.get("base_url", "")) as runtime:
        if job["wire"] == "instant":
            runtime.engine.providers.add("instant", InstantModel())
        report = await stable_prompt(runtime)
        if job["history"]:
            await write_history(runtime, job["history"])

        async def sample() -> Mapping[str, float]:
            if job["sessions"] == 1:
                return await one_after_another(runtime, job)
            return await timed(job["turns"] * job["sessions"], side_by_side(runtime, job))

        yield report, sample


if __name__ == "__main__":
    work(side)
