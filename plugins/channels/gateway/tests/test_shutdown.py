"""A real gateway stops soon, with 0, and loses nothing, whatever hangs."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import ECHO, PATIENCE, SLOW, Gateways, Platform, end

STUBBORN = """
import asyncio, sys
from hookline_hookspecs import Plugin, hookimpl

class Extra(Plugin):
    '''Does not let go of a message.'''

    @hookimpl
    async def pre_prompt(self, ctx, turn):
        while turn.inbound.text == "hang":
            try:
                print("begun", file=sys.stderr, flush=True)
                await asyncio.sleep(100000)
            except asyncio.CancelledError:
                pass
"""
TEARDOWN = """
import time
from hookline_hookspecs import Plugin, hookimpl

class Extra(Plugin):
    '''Hangs as it ends, and the event loop with it.'''

    @hookimpl
    async def teardown(self, host):
        time.sleep(100000)
"""
DEAF = """
import asyncio, sys
from hookline_hookspecs import Plugin, hookimpl

class Deaf:
    name, edits, network = "deaf", False, True

    async def start(self):
        pass

    async def wait(self):
        await asyncio.Event().wait()

    async def stop(self):
        await asyncio.Event().wait()

    async def send(self, reply):
        return None

class Extra(Plugin):
    '''Brings a channel that does not stop.'''

    @hookimpl
    def register_channels(self, register):
        register(Deaf())
"""
LATE = DEAF.replace(
    "async def start(self):\n        pass",
    "async def start(self):\n        print('begun', file=sys.stderr, flush=True)\n"
    "        await asyncio.Event().wait()",
).replace(
    "async def stop(self):\n        await asyncio.Event().wait()", "async def stop(self): pass"
)
BLOCKED = """
import sys, time
from hookline_hookspecs import Plugin, hookimpl

class Extra(Plugin):
    '''Blocks the event loop.'''

    @hookimpl
    async def pre_prompt(self, ctx, turn):
        if turn.inbound.text == "hang":
            print("begun", file=sys.stderr, flush=True)
            time.sleep(100000)
"""


def wait_until_begun(process: subprocess.Popen[str]) -> None:
    """Wait until a plugin has said that it is at work."""
    assert process.stderr is not None
    assert any("begun" in line for line in process.stderr)


@pytest.mark.slow
def test_hanging_turn_is_finished_by_next_process(gateways: Gateways, platform: Platform) -> None:
    gateways.configure(platform, SLOW, gateway={"drain": 0.5})
    process, _ = gateways.start()
    assert gateways.say("m1") == 202
    assert end(process)[0] == 0
    gateways.configure(platform, ECHO)
    process, _ = gateways.start()
    assert platform.answer_to("m1") == "answered"
    assert end(process)[0] == 0
    assert len(platform.all) == 1


FORCED = ("stubborn", "blocked", "teardown")
"""What only the end of the process ends."""
HANGS = {"stubborn": STUBBORN, "blocked": BLOCKED, "teardown": TEARDOWN, "deaf": DEAF}


@pytest.mark.slow
def test_gateway_exits_0_and_loses_nothing_whatever_hangs(
    tmp_path: Path, platform: Platform
) -> None:
    """All of them at once, since each takes its time."""
    homes = {name: Gateways(tmp_path / name) for name in HANGS}
    try:
        running = {name: _hanging(name, homes[name], platform) for name in HANGS}
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        for name, process in running.items():
            _, said = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, name
            assert ("it continues at the next start" in said) == (name in FORCED), name
        for name in ("stubborn", "blocked", "teardown"):
            homes[name].configure(platform, extra=False)
            assert homes[name].start()  # the home is free again
        for name in ("stubborn", "blocked"):
            assert platform.answer_to(name) == "answered"
    finally:
        for home in homes.values():
            home.close()
    assert len(platform.all) == len(HANGS)


def _hanging(name: str, home: Gateways, platform: Platform) -> subprocess.Popen[str]:
    """A gateway with something that hangs now, or will at its end."""
    home.folder.mkdir()
    home.install("extra", HANGS[name])
    home.configure(platform, gateway={"drain": 0.5}, extra=True)
    process, _ = home.start()
    hangs_now = name in ("stubborn", "blocked")
    assert home.say(name, "hang" if hangs_now else "hello") == 202
    if hangs_now:
        wait_until_begun(process)
    else:
        assert platform.answer_to(name) == "answered"
    return process


@pytest.mark.slow
def test_replies_wait_for_unreachable_platform(
    gateways: Gateways, unreachable_platform: Platform
) -> None:
    gateways.configure(unreachable_platform, gateway={"drain": 0.5})
    process, _ = gateways.start()
    assert gateways.say("m1") == 202
    assert end(process)[0] == 0
    unreachable_platform.open()
    process, _ = gateways.start()
    assert unreachable_platform.answer_to("m1") == "answered"
    assert end(process)[0] == 0
    assert len(unreachable_platform.all) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_stops_at_once(
    gateways: Gateways, platform: Platform, number: signal.Signals
) -> None:
    gateways.install("extra", STUBBORN)
    gateways.configure(platform, gateway={"drain": 3000}, extra=True)
    process, _ = gateways.start()
    assert gateways.say("m1", "hang") == 202
    wait_until_begun(process)
    process.send_signal(signal.SIGTERM)
    while gateways.run("health")[1].find("stopping") < 0:
        pass
    code, said = end(process, number)
    assert code == 130
    assert "stopped at once" in said


@pytest.mark.slow
def test_signal_before_ready_exits_0(gateways: Gateways) -> None:
    gateways.install("extra", LATE)
    gateways.configure(gateway={"drain": 0.5}, extra=True)
    process = gateways.spawn("gateway")
    wait_until_begun(process)
    assert end(process)[0] == 0


@pytest.mark.slow
def test_second_gateway_is_refused_while_first_drains(
    gateways: Gateways, platform: Platform
) -> None:
    gateways.configure(platform, SLOW, gateway={"drain": 3000})
    process, _ = gateways.start()
    assert gateways.say("m1") == 202
    process.send_signal(signal.SIGTERM)
    while gateways.run("health")[1].find("stopping") < 0:
        pass
    code, _, err = gateways.run("gateway")
    assert (code, "another gateway is running" in err) == (1, True)
