"""The pytest plugin: its imports, its fixtures, and plugins that are off."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Clock, open_store
from hookline_hookspecs import Context, NoConfig, Plugin, Section, Session, command, hookimpl

pytest_plugins = "pytester"
Make = Callable[..., Any]


def test_pytest_plugin_imports_nothing_until_a_fixture_is_used() -> None:
    code = (
        "import sys, json, pytest; before = set(sys.modules)\n"
        "import hookline.testing.plugin\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == ["hookline", "hookline.testing", "hookline.testing.plugin"]


def test_every_public_name_can_be_imported() -> None:
    import hookline.testing as kit

    for name in kit.__all__:
        assert getattr(kit, name).__doc__
    with pytest.raises(AttributeError, match=r"it has ChannelContract, .*PluginContract"):
        _ = kit.Harnes


def test_harness_fixture_is_missing_without_the_pytest_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_x(harness): pass")
    result = pytester.runpytest("-p", "no:hookline", "-p", "no:asyncio")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'harness' not found*"])


class Diary(Plugin[NoConfig]):
    """Reports the time."""

    @command("/time")
    def time(self, ctx: Context, args: str) -> str:
        """Tell the time."""
        return str(self.host.now())


def test_clock_fixture_moves_the_runtime_clock(harness: Make, clock: Clock) -> None:
    h = harness(Diary)
    assert abs(float(h.send("/time").text) - time.time()) < 60
    clock.ahead(3600)
    assert 3600 <= float(h.send("/time").text) - time.time() + 60 < 3720
    clock.stop(1_000_000.5)
    assert [h.send("/time").text for _ in range(2)] == ["1000000.5"] * 2
    clock.ahead(0)
    assert abs(float(h.send("/time").text) - time.time()) < 60


async def test_store_fixture_is_a_real_store(store: Any, store_home: Path, tmp_path: Path) -> None:
    assert store_home.is_relative_to(tmp_path)
    await store.write(lambda c: c.execute("CREATE TABLE t (n INTEGER)"))
    await store.write(lambda c: c.execute("INSERT INTO t (n) VALUES (:n)", {"n": 7}))
    rows = await store.read(lambda c: c.fetch("SELECT n FROM t"))
    assert [row["n"] for row in rows] == [7]


def test_hookline_store_option_sets_store_url(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_x(store_url): assert store_url == 'postgres://db/x'")
    result = pytester.runpytest("-p", "no:asyncio", "--hookline-store", "postgres://db/x")
    result.assert_outcomes(passed=1)


async def test_missing_store_driver_is_named(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"the store driver nosuch .* \(hookline-nosuch\)"):
        async with open_store(tmp_path, "nosuch://somewhere"):
            pass


class Speaks(Plugin[NoConfig]):
    @hookimpl
    def system_prompt(self, ctx: Any, session: Session) -> Section:
        return Section("guidance", "Speak up.")


def test_a_test_finds_programs_where_an_earlier_one_had_its_workspace(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        from hookline_hookspecs.own_programs import own_program

        places = []

        def test_one(harness):
            h = harness(model=["a"])
            h.send("hi")
            (h.workspace / "tool").touch(mode=0o755)
            places.append(str(h.workspace))
            assert own_program("tool", places[0]) is None

        def test_two():
            assert own_program("tool", places[0])
        """
    )
    pytester.runpytest("-p", "no:asyncio", "-p", "no:randomly").assert_outcomes(passed=2)


@pytest.mark.parametrize(("settings", "spoken"), [({}, True), (False, False)])
def test_harness_config_false_switches_a_plugin_off(
    harness: Make, settings: Any, spoken: bool
) -> None:
    h = harness(Speaks, config={"speaks": settings}, model=["a"])
    h.send("hello")
    assert ("Speak up." in h.model.requests[0].system) is spoken
    assert h.states()["speaks"][0] == ("on" if spoken else "off")


def test_harness_names_a_plugin_by_its_entry_point(
    harness: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Speaks.__module__.partition(".")[0]
    points = {"loud-speaker": {f"{package}.entry:Speaks"}, "other": {"elsewhere:Speaks"}}
    monkeypatch.setattr("hookline.testing.harness.installed", lambda: points)
    h = harness(Speaks, model=["a"])
    assert list(h.states()) == ["loud-speaker"]
