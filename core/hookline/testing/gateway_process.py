"""Runs a channel's gateway in a separate process, which a test can kill at a crash point."""

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

WAIT_TIMEOUT = float(os.environ.get("HOOKLINE_TEST_PATIENCE", "60"))
"""Seconds after which a wait fails; much longer than any wait should take."""
LONG_ANSWER_LINES = 200
"""Number of lines of a long answer."""
SLOW_ANSWER_SUFFIX = " in many words" * 10
"""Added to a slow answer, so that channels show it while it grows."""
_WORDS = re.compile(r"\[(\w+)\] (\w+)")


class GatewayProcess:
    """Runs processes with one plugin's channel on one home, one after another.

    Args:
        plugin: the class; its module must be importable by name.
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
        """Start a process that is killed at the crash point ``point`` (``NAME`` or ``NAME:3``).

        Return True once it receives messages, or False if it was killed before.

        Raises:
            AssertionError: it cannot start; with its error.
        """
        here, there = self._context.Pipe()
        arguments = (there, self._kind, sys.path, str(self._home), self._config, point)
        self._process = self._context.Process(target=_run_gateway, args=arguments, daemon=True)
        self._process.start()
        there.close()
        self._pipe = here
        try:
            message = here.recv() if here.poll(WAIT_TIMEOUT) else "it does not respond"
        except EOFError:
            return False
        if message != "ready":
            raise AssertionError(f"the channel does not start: {message}")
        return True

    def died(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the process to die; return False if it is still alive."""
        self._process.join(seconds)
        return not self._process.is_alive()

    def kill(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def stop(self) -> None:
        """Stop the process as a gateway stops: it delivers its pending replies first."""
        if self._process is not None and self._pipe is not None:
            self._pipe.send("stop")
            self._process.join(WAIT_TIMEOUT)
            self.kill()


def wait_for(condition: Callable[[], Any], describe: Callable[[], object]) -> None:
    """Wait until ``condition()`` is true.

    Raises:
        AssertionError: it was not true within the timeout; with ``describe()``.
    """
    deadline = time.monotonic() + WAIT_TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, f"timed out: {describe()}"
        time.sleep(0.02)


def long_answer(name: str) -> str:
    """The model's answer to ``[NAME] long``: numbered lines, some of them in a code block."""
    lines = [
        f"[{name}.{number}] some words for the line, and a few more of them"
        for number in range(LONG_ANSWER_LINES)
    ]
    lines[LONG_ANSWER_LINES // 4] += "\n\n```python"
    lines[LONG_ANSWER_LINES // 2] += "\n```\n"
    return "\n".join(lines)


class Echo(ScriptedModel):
    """Answers ``[NAME] hello`` with ``[NAME] is answered``, and ``[NAME] long`` at length.

    ``[NAME] slow`` gets a longer form of the same answer, word by word over some seconds.
    """

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Answer, word by word."""
        request: Any = wire.stable.request  # type: ignore[attr-defined]
        name, word = (_WORDS.findall(request.messages[-1].text) or [("", "")])[-1]
        text = long_answer(name) if word == "long" else f"[{name}] is answered"
        text += SLOW_ANSWER_SUFFIX if word == "slow" else ""
        for part in re.findall(r"\S+\s*", text):
            if on_delta is not None:
                on_delta(Delta(part))
            if word == "slow":
                await asyncio.sleep(0.1)
        await asyncio.sleep(0.02)
        return self._response(text)


def _run_gateway(
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
    channels = [c for c in host.channels() if c.network and c.name != "fake"]
    if not channels:
        raise AssertionError(f"{kind} registers no network channel: {harness.states()}")
    await runtime.gateway_host.recover()
    for channel in channels:
        await channel.start()
    pipe.send("ready")
    await asyncio.to_thread(pipe.recv)
    for channel in channels:
        await channel.stop()
    await runtime.finish_background(WAIT_TIMEOUT)
    await harness.aclose()
