"""A config.yaml that changes while the process runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_configure import Configure
from hookline_hookspecs import Deny, Plugin, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Harness]


class Greeter(Plugin[NoConfig]):
    @tool(read_only=True)
    def greet(self) -> str:
        """Greet."""
        return "hello"

    @hookimpl
    def teardown(self, host: Any) -> None:
        (host.home / "greeter-is-gone").touch()


class Gate(Plugin[NoConfig]):
    @hookimpl(tryfirst=True)
    def on_message(self) -> Deny:
        return Deny("nobody may pass")


@pytest.fixture
def open_with_config(harness: Make) -> Callable[..., Harness]:
    """Opens a harness with this plugin over a text of config.yaml."""

    def start(text: str, *plugins: type[Plugin[Any]], model: list[Any], **options: Any) -> Harness:
        made = harness(Configure, *plugins, model=model, **options)
        made.home.mkdir(parents=True, exist_ok=True)
        (made.home / "config.yaml").write_text(text)
        made.runtime  # noqa: B018
        return made

    return start


def edit(h: Harness, text: str) -> None:
    path = h.home / "config.yaml"
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def notices_with(h: Harness, word: str) -> list[str]:
    return [notice.text for notice in h.notices if word in notice.text]


def test_disabled_plugin_stops_at_next_message(open_with_config: Make) -> None:
    steps = ["one", [calls("greet")], "two"]
    h = open_with_config("plugins: {greeter: true}\n", Greeter, model=steps)
    h.send("a")
    edit(h, "plugins: {greeter: false}\n")
    turn = h.send("b").turn
    assert [result.text for result in turn.tool_calls] == [
        "Error: tool greet is no longer available"
    ]
    assert (h.home / "greeter-is-gone").exists()
    assert notices_with(h, "greeter is off now")
    assert "greet" in [schema.name for schema in h.model.last.tools]


def test_disabled_guard_does_not_judge_the_next_message(open_with_config: Make) -> None:
    h = open_with_config("plugins: {gate: true}\n", Gate, model=["one"])
    assert h.send("a").text == "nobody may pass"
    edit(h, "plugins: {gate: false}\n")
    assert h.send("b").text == "one"


def test_third_party_plugin_removed_from_config_stops(open_with_config: Make) -> None:
    h = open_with_config("plugins: {greeter: true}\n", Greeter, model=["one", "two"])
    h.send("a")
    edit(h, "plugins: {}\n")
    h.send("b")
    assert h.states()["greeter"][0] == "off"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("plugins: {greeter: true}\nmax_iterations: 3\n", "max_iterations"),
        ("plugins: {greeter: {loud: true}}\n", "plugins.greeter"),
        ("plugins: {greeter: {token: other}}\n", "plugins.greeter"),
    ],
)
def test_other_changes_give_one_notice_to_restart(
    open_with_config: Make, text: str, key: str
) -> None:
    h = open_with_config(
        "plugins: {greeter: {token: one}}\n", Greeter, model=["one", "two", "three"]
    )
    if "token" not in text:
        edit(h, "plugins: {greeter: true}\n")
    h.send("a")
    h.notices.clear()
    edit(h, text)
    h.send("b")
    h.send("c")
    (sentence,) = notices_with(h, "restart")
    assert sentence.endswith(f"restart to apply {key}.")
    assert h.states()["greeter"][0] == "on"


def test_enabled_plugin_is_on_at_next_message(open_with_config: Make) -> None:
    steps = ["one", "two", [calls("greet")], "three"]
    h = open_with_config(
        "plugins: {greeter: false}\n", Greeter, model=steps, config={"greeter": False}
    )
    h.send("a")
    edit(h, "plugins: {greeter: true}\n")
    h.send("b")
    assert notices_with(h, "greeter is on now")
    assert "greet" not in [schema.name for schema in h.model.last.tools]
    turn = h.send("c", session="new").turn
    assert [result.text for result in turn.tool_calls] == ["hello"]


def test_enabled_plugin_that_is_not_installed_gives_a_notice(open_with_config: Make) -> None:
    h = open_with_config("plugins: {greeter: true}\n", Greeter, model=["one", "two"])
    h.send("a")
    edit(h, "plugins: {greeter: true, other: true}\n")
    h.send("b")
    (sentence,) = notices_with(h, "other")
    assert sentence == (
        "Plugin other could not be switched on: not installed (hookline plugins enable other)."
    )


class Window(Plugin[NoConfig]):
    needs_restart = True


class Desk(Plugin[NoConfig]):
    requires = ("window",)


@pytest.mark.parametrize("plugin", [Window, Desk])
def test_plugin_that_only_a_start_can_take_gives_a_notice(
    open_with_config: Make, plugin: type[Plugin[Any]]
) -> None:
    name = plugin.__name__.lower()
    h = open_with_config(
        f"plugins: {{{name}: false}}\n", plugin, model=["one", "two"], config={name: False}
    )
    h.send("a")
    edit(h, f"plugins: {{{name}: true}}\n")
    h.send("b")
    assert notices_with(h, f"restart to apply plugins.{name}.")
    assert h.states()[name][0] == "off"


def test_change_without_effect_gives_no_notice(open_with_config: Make) -> None:
    h = open_with_config(
        "plugins: {greeter: true}\n", Greeter, model=["one"], core={"max_iterations": 5}
    )
    edit(h, "# mine\nplugins: {greeter: true}\ntrace: false\nmax_iterations: 7\n")
    h.send("a")
    assert h.notices == []


def test_broken_config_gives_a_notice_and_changes_nothing(open_with_config: Make) -> None:
    h = open_with_config("plugins: {greeter: true}\n", Greeter, model=["one", "two"])
    h.send("a")
    edit(h, "plugins: [\n")
    assert h.send("b").text == "two"
    (sentence,) = notices_with(h, "stays in force")
    assert "config.yaml:" in sentence
    assert h.states()["greeter"][0] == "on"


@pytest.mark.long
@pytest.mark.parametrize("cut", ["", "# mine\n", "max_iterations: 7\n", None])
def test_config_being_written_stops_no_plugin(open_with_config: Make, cut: str | None) -> None:
    text = "max_iterations: 7\nplugins:\n  greeter: true\n"
    h = open_with_config(text, Greeter, model=["one", "two", "three"])
    path = h.home / "config.yaml"

    async def story() -> None:
        await h.aopen()
        if cut is None:
            path.unlink()
        else:
            path.write_text(cut)
        answer = asyncio.ensure_future(h.asend("hello"))
        await asyncio.sleep(0.4)
        path.write_text(text)
        await answer

    h.run(story())
    assert h.states()["greeter"][0] == "on"
    assert h.notices == []


@pytest.mark.long
def test_empty_config_never_counts(open_with_config: Make) -> None:
    h = open_with_config("plugins: {greeter: true}\n", Greeter, model=["one", "two", "three"])
    h.send("a")
    edit(h, "")
    h.send("b")
    assert h.states()["greeter"][0] == "on"
    (sentence,) = notices_with(h, "stays in force")
    assert "the file is empty" in sentence
    (check,) = [check for _, check in h.checks() if check.name == "config file"]
    result: Any = check.run()
    assert not result.ok
    assert "is empty" in result.detail


def test_invalid_plugin_value_does_not_stop_plugin(open_with_config: Make) -> None:
    h = open_with_config("plugins: {greeter: true}\n", Greeter, model=["one", "two"])
    edit(h, "plugins: {greeter: 12}\n")
    h.send("a")
    assert h.states()["greeter"][0] == "on"
    edit(h, "plugins: {greeter: off}\n")
    h.send("b")
    assert h.states()["greeter"][0] == "off"


def test_running_turn_keeps_its_plugins(open_with_config: Make) -> None:
    go = asyncio.Event()

    class Waits(Plugin[NoConfig]):
        @tool
        async def wait(self) -> str:
            """Wait."""
            await go.wait()
            return "waited"

    steps = [[calls("wait")], "one", "two"]
    h = open_with_config("plugins: {greeter: true}\n", Greeter, Waits, model=steps)

    async def story() -> None:
        first = asyncio.create_task(h.asend("a"))
        while not ((state := h.runtime.sessions.loaded("test")) and state.active):
            await asyncio.sleep(0.01)
        edit(h, "plugins: {greeter: false}\n")
        second = asyncio.create_task(h.asend("b"))
        await asyncio.sleep(0.05)
        go.set()
        assert (await first).text == "one"
        assert (await second).text == "two"
        assert h.states()["greeter"][0] == "off"

    h.run(story())
