"""A channel's gateway in a process of its own, which a test can let die at a named point."""

from __future__ import annotations

import asyncio
import importlib
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hookline_hookspecs import Delta, DeltaSink, ModelResponse, Plugin, WireRequest, crash

from .harness import Harness
from .model import ScriptedModel

PATIENCE = float(os.environ.get("HOOKLINE_TEST_PATIENCE", "60"))
"""Seconds until a wait is given up; none takes so long."""
LINES = 200
"""Lines of a long answer."""
SLOWLY = " in many words" * 10
"""Behind an answer that takes its time, so that channels show it while it grows."""
_WORDS = re.compile(r"\[(\w+)\] (\w+)")


class GatewayProcess:
    """Processes with one plugin's channel on one home, one after the other.

    Args:
        plugin: the class; its module has to be importable by name.
        home: the home folder.
        config: the plugin's settings.
    """

    def __init__(self, plugin: type[Plugin[Any]], home: Path, config: Mapping[str, Any]) -> None:
        self._kind = f"{plugin.__module__}:{plugin.__qualname__}"
        self._home, self._config = home, dict(config)
        kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        self._context: Any = multiprocessing.get_context(kind)
        if kind == "forkserver":
            self._context.set_forkserver_preload([__name__, "hookline.runtime"])
        self._process: Any = None
        self._pipe: Connection | None = None

    def start(self, point: str = "") -> bool:
        """Start a process, to be killed at ``point`` (``NAME`` or ``NAME:3``). Return True once it
        receives messages; False if it was killed before. Raises ``AssertionError`` with what it
        says if it cannot start."""
        here, there = self._context.Pipe()
        arguments = (there, self._kind, sys.path, str(self._home), self._config, point)
        self._process = self._context.Process(target=_live, args=arguments, daemon=True)
        self._process.start()
        there.close()
        self._pipe = here
        try:
            said = here.recv() if here.poll(PATIENCE) else "it says nothing"
        except EOFError:
            return False
        if said != "ready":
            raise AssertionError(f"the channel does not start: {said}")
        return True

    def died(self, seconds: float) -> bool:
        """Wait for the process to be dead; return False if it still lives after ``seconds``."""
        self._process.join(seconds)
        return not self._process.is_alive()

    def kill(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def stop(self) -> None:
        """Let the process end as a gateway does: replies under way are delivered first."""
        if self._process is not None and self._pipe is not None:
            self._pipe.send("stop")
            self._process.join(PATIENCE)
            self.kill()


def wait_for(what: Callable[[], Any], told: Callable[[], object]) -> None:
    """Wait until ``what()`` is true. Raises ``AssertionError`` with ``told()`` if it never is."""
    ends = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < ends, f"waited in vain: {told()}"
        time.sleep(0.02)


def long_answer(name: str) -> str:
    """What the model says to ``[NAME] long``: numbered lines, some of them in a block of code."""
    lines = [
        f"[{name}.{number}] some words for the line, and a few more of them"
        for number in range(LINES)
    ]
    lines[LINES // 4] += "\n\n```python"
    lines[LINES // 2] += "\n```\n"
    return "\n".join(lines)


class Echo(ScriptedModel):
    """Answers ``[NAME] hello`` with ``[NAME] is answered``, ``[NAME] long`` at length.

    ``[NAME] slow`` gets the same answer as ``hello``, word by word over some seconds.
    """

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Answer, word by word."""
        request: Any = wire.stable.request  # type: ignore[attr-defined]
        name, word = (_WORDS.findall(request.messages[-1].text) or [("", "")])[-1]
        text = long_answer(name) if word == "long" else f"[{name}] is answered"
        text += SLOWLY if word == "slow" else ""
        for part in re.findall(r"\S+\s*", text):
            if on_delta is not None:
                on_delta(Delta(part))
            if word == "slow":
                await asyncio.sleep(0.1)
        await asyncio.sleep(0.02)
        return self._response(text)


def _live(
    pipe: Connection,
    kind: str,
    path: Sequence[str],
    home: str,
    config: Mapping[str, Any],
    point: str,
) -> None:
    sys.path[:] = path
    os.environ["HOOKLINE_CRASH_AT"] = point
    importlib.reload(crash)
    try:
        asyncio.run(_serve(pipe, kind, Path(home), config))
    except BaseException as error:
        pipe.send(f"{type(error).__name__}: {error}")
        raise


async def _serve(pipe: Connection, kind: str, home: Path, config: Mapping[str, Any]) -> None:
    module, _, name = kind.partition(":")
    plugin: Any = importlib.import_module(module)
    for part in name.split("."):
        plugin = getattr(plugin, part)
    harness = Harness(plugin, home=home, config=config, model=Echo(), strict=False)
    runtime = await harness.aopen()
    host = harness.plugin(plugin).host
    own = [one for one in host.channels() if one.network and one.name != "fake"]
    if not own:
        raise AssertionError(f"{kind} registers no network channel: {harness.states()}")
    await runtime.gateway_host.recover()
    for channel in own:
        await channel.start()
    pipe.send("ready")
    await asyncio.to_thread(pipe.recv)
    for channel in own:
        await channel.stop()
    await runtime.finish_background(PATIENCE)
    await harness.aclose()
