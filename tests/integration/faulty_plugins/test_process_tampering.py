"""Plugins that affect the whole process: its tasks, event loop, output and exit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Deny, Plugin, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig
from support.healthy_plugin import (
    collect_failures,
    healthy_plugin_works,
    make_harness,
    plugin_doing,
)
from support.machine import Machine
from support.site_packages import Site

from .test_broken_dists import CONFIG, HEAD

Make = Callable[..., Any]


# The task it runs in


async def waits_for_the_cancelled() -> None:
    """Await a task that was cancelled; this does not ask to stop the turn."""
    task = asyncio.ensure_future(asyncio.sleep(3600))
    asyncio.get_running_loop().call_soon(task.cancel)
    await task


@pytest.mark.parametrize("hook", ["start_of_turn", "pre_tool", "post_model", "pre_reply"])
def test_hook_that_awaits_a_cancelled_task_fails_but_the_turn_goes_on(
    harness: Make, caplog: Any, hook: str
) -> None:
    h = make_harness(harness, plugin_doing(hook, waits_for_the_cancelled))
    failures = collect_failures(h)
    outcome = h.send("go")
    assert (outcome.stop, outcome.text) == ("done", "well")
    assert {failure.plugin for failure in failures} == {"bad"}
    assert f"plugin bad failed in {hook}" in caplog.text
    if hook == "pre_tool":
        assert all(result.text.startswith("Denied: ") for result in outcome.tool_calls)


async def test_hook_that_cancels_its_own_task_stops_only_the_turn(harness: Make) -> None:
    turns: list[str] = []

    def cancel_once() -> None:
        task = asyncio.current_task()
        if not turns and task is not None:
            task.cancel()
        turns.append("turn")

    h = make_harness(harness, plugin_doing("start_of_turn", cancel_once), model=["lost", "well"])
    await h.aopen()
    await h.channel.say("first")
    await h.channel.say("second")
    replies = await h.channel.replies(2)
    assert [reply.text for reply in replies] == ["Stopped.", "well"]


# The event loop


def runs_a_loop() -> None:
    """Start an event loop inside the running one."""
    wait = asyncio.sleep(0)
    try:
        asyncio.run(wait)
    finally:
        wait.close()


def stops_the_loop() -> None:
    asyncio.get_running_loop().close()


@pytest.mark.parametrize("act", [runs_a_loop, stops_the_loop])
@pytest.mark.parametrize("hook", ["system_prompt", "pre_tool", "end_of_turn"])
def test_plugin_that_tampers_with_the_event_loop_is_survived(
    harness: Make, caplog: Any, hook: str, act: Callable[[], Any]
) -> None:
    h = make_harness(harness, plugin_doing(hook, act))
    failures = collect_failures(h)
    assert h.send("go").text == "well"
    assert {failure.plugin for failure in failures} == {"bad"}
    assert "running" in failures[0].reason
    assert healthy_plugin_works(h) or hook == "pre_tool"


@pytest.mark.slow
def test_plugin_with_endless_recursion_is_survived(harness: Make) -> None:
    class Bad(Plugin[NoConfig]):
        @hookimpl
        async def pre_read(self, excerpt: Any) -> Any:
            return Deny(await self.host.read(excerpt.text, "again"))

    h = make_harness(harness, Bad, model=[[calls("look")], "well"])
    outcome = h.send("go")
    assert outcome.text == "well"
    assert outcome.tool_calls[0].text.startswith("Denied: ")


@pytest.mark.slow
def test_tool_that_nests_turns_endlessly_is_survived(harness: Make) -> None:
    class Bad(Plugin[NoConfig]):
        @tool
        async def delegate(self, ctx: Any) -> str:
            """Let somebody else do it."""
            turn = await self.host.run_turn("do it", parent=ctx)
            return f"{turn.stop}: {turn.reply}"

    endless = [[calls("delegate")] for _ in range(200)]
    h = make_harness(harness, Bad, model=[*endless, *["enough"] * 400])
    outcome = h.send("go")
    assert outcome.stop in ("done", "error")
    assert healthy_plugin_works(h)


# The process

HOOK = """
class One(Plugin[NoConfig]):
    @hookimpl
    def pre_prompt(self):
        {act}
"""


def bad(act: str) -> str:
    """A plugin that does ``act`` in a turn."""
    return HEAD + HOOK.format(act=act)


@pytest.fixture
def run_with_bad_plugin(machine: Machine, site: Site) -> Callable[..., Any]:
    """Run one turn with a plugin that does something to the process."""

    def run(act: str, *options: str) -> Any:
        site.dist("good", "good")
        site.dist("bad", "bad", bad(act))
        machine.config(CONFIG)
        return machine.run("run", "hi", "--session", "one", *options)

    return run


@pytest.mark.slow
def test_keyboard_interrupt_in_a_hook_ends_the_run(
    run_with_bad_plugin: Any, machine: Machine
) -> None:
    done = run_with_bad_plugin("raise KeyboardInterrupt")
    assert done.code == 130
    assert "Traceback" not in done.err
    machine.config("plugins: {good: true}\n")
    after = machine.run("run", "again", "--session", "one")
    assert (after.code, after.out) == (0, "hello\n"), after.err


@pytest.mark.slow
def test_failing_plugin_is_named_in_each_run_of_a_session(
    run_with_bad_plugin: Any, machine: Machine
) -> None:
    """Three failures switch it off within one process; each `run` is a new process."""
    first = run_with_bad_plugin("raise ValueError('the moon is wrong')")
    again = [machine.run("run", "hi", "--session", "one") for _ in range(3)]
    for done in (first, *again):
        assert (done.code, done.out) == (0, "hello\n"), done.err
        (line,) = [line for line in done.err.splitlines() if "bad" in line]
        assert line == "[bad] This plugin failed in pre_prompt: ValueError: the moon is wrong"
    lines = machine.run("run", "hi", "--session", "one", "--json").events
    (notice,) = [line for line in lines if line["type"] == "notice"]
    assert (notice["plugin"], "the moon is wrong" in notice["text"]) == ("bad", True)


def sampled(acts: Mapping[str, str]) -> list[Any]:
    """Parameters of a test: every third is quick."""
    return [
        pytest.param(act, id=name, marks=[pytest.mark.slow] if number % 3 else [])
        for number, (name, act) in enumerate(acts.items())
    ]


CALM: dict[str, str] = {
    "exits": "sys.exit(7)",
    "exits from a thread": (
        "import threading; t = threading.Thread(target=sys.exit); t.start(); t.join()"
    ),
    "fails in a thread": (
        "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()"
    ),
    "changes the folder": "os.chdir('/')",
    "empties the environment": "os.environ.clear()",
    "removes the log": "import logging; logging.getLogger('hookline').handlers.clear()",
    "shuts logging down": "import logging; logging.shutdown()",
    "makes warnings errors": "import warnings; warnings.simplefilter('error')",
    "counts references": "import gc; gc.disable()",
    "cannot go deep": "sys.setrecursionlimit(sys.getrecursionlimit() // 2)",
    "another policy": "asyncio.set_event_loop(None)",
    "takes builtins away": "import builtins; builtins.open = None",
}


OUTPUT: dict[str, str] = {
    "closes stdout": "sys.stdout.close()",
    "replaces stdout": "sys.stdout = None",
    "closes stderr": "sys.stderr.close()",
    "prints": "print('look at me')",
    "prints without an end": "print('look at me', end='')",
    "closes stdin": "sys.stdin.close()",
}


@pytest.mark.parametrize("act", [*sampled(CALM), *sampled(OUTPUT)])
@pytest.mark.slow
def test_plugin_that_changes_the_process_does_not_change_the_answer(
    run_with_bad_plugin: Any, act: str
) -> None:
    done = run_with_bad_plugin(act)
    assert (done.code, done.out) == (0, "hello\n"), done.err


@pytest.mark.parametrize("act", sampled(OUTPUT))
@pytest.mark.slow
def test_json_output_stays_valid_whatever_a_plugin_prints(
    run_with_bad_plugin: Any, act: str
) -> None:
    done = run_with_bad_plugin(act, "--json")
    assert done.code == 0, done.err
    assert done.result["text"] == "hello"
