"""``--max-turns``, ``--max-cost`` and ``--fail-on-deny``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Ask, Context, Host, NoConfig, Plugin, Usage, hookimpl, tool
from hookline_hookspecs.prices import Prices
from hookline_run import Run

MakeHarness = Callable[..., Harness]


class OneDollar(Prices):
    """Each answer costs a dollar; the models of a machine of one's own are free."""

    def cost(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        return 0.0 if self.is_free(model) else 1.0

    def is_free(self, model: str) -> bool:
        return model.startswith("own/")


class PriceList(Plugin[NoConfig]):
    """Provides :class:`OneDollar`."""

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Prices, OneDollar())


class Door(Plugin[NoConfig]):
    """A tool, and one that asks."""

    @tool(read_only=True)
    def look(self) -> str:
        """Look at the door."""
        return "It is green."

    @tool
    def knock(self) -> str:
        """Knock at the door."""
        return "Come in."

    @hookimpl
    def pre_tool(self, ctx: Context, call: Any) -> Ask | None:
        return Ask("may I knock?") if call.name == "knock" else None


def result(done: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.long
def test_max_turns_stops_and_says_so(tmp_path: Path) -> None:
    look = {"tools": [{"name": "list_dir", "arguments": {}}]}
    steps = [look, look, {"text": "I looked twice."}, {"text": "Never."}]
    (tmp_path / "model.json").write_text(json.dumps({"steps": steps}), "utf-8")
    command = [sys.executable, "-m", "hookline", "run", "look", "--max-turns", "2", "--json"]
    done = subprocess.run(
        [*command, "--model", "scripted/model.json"],
        cwd=tmp_path,
        env={**os.environ, "HOOKLINE_HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, result(done)["stop"]) == (1, "max_iterations")
    assert result(done)["text"].startswith("I looked twice.")
    assert "limit of 2 model calls" in result(done)["text"]


def test_max_turns_has_to_be_a_number_above_0(harness: MakeHarness) -> None:
    assert harness(Run).cli("run look --max-turns 0").exit_code == 2


def test_max_cost_stops_before_the_next_call(harness: MakeHarness) -> None:
    h = harness(Run, PriceList, Door, model=[calls("look"), calls("look"), "Never."])
    done = h.cli("run look --max-cost 1.5 --json")
    assert (done.exit_code, result(done)["stop"]) == (1, "budget")
    assert "The limit of --max-cost $1.50 is reached: $2.00 spent." in result(done)["text"]
    assert len(h.model.requests) == 2


def test_max_cost_lets_a_cheaper_turn_finish(harness: MakeHarness) -> None:
    h = harness(Run, PriceList, Door, model=[calls("look"), "Green."])
    done = h.cli("run look --max-cost 5")
    assert (done.exit_code, done.stdout) == (0, "Green.\n")


def test_max_cost_is_refused_without_a_price(harness: MakeHarness) -> None:
    h = harness(Run, model=["Never."])
    done = h.cli("run hello --max-cost 1")
    assert done.exit_code == 2
    assert "is unknown, so --max-cost could not hold" in done.stderr
    assert not h.model.requests


@pytest.mark.parametrize("amount", ["0", "-1", "nan", "inf"])
def test_max_cost_has_to_be_an_amount(harness: MakeHarness, amount: str) -> None:
    done = harness(Run, PriceList).cli(f"run hello --max-cost {amount}")
    assert (done.exit_code, "expected an amount above 0" in done.stderr) == (2, True)


def test_denied_tool_leaves_0_and_is_named_in_the_result(harness: MakeHarness) -> None:
    h = harness(Run, Door, model=[calls("knock"), "I may not."])
    done = h.cli("run knock --json --no-input")
    assert (done.exit_code, result(done)["stop"]) == (0, "done")
    assert result(done)["refused"] == ["knock"]


def test_fail_on_deny_exits_3_and_says_what_was_refused(harness: MakeHarness) -> None:
    h = harness(Run, Door, model=[calls("knock"), "I may not.", calls("look"), "Green."])
    done = h.cli("run knock --no-input --fail-on-deny")
    assert (done.exit_code, done.stdout) == (3, "I may not.\n")
    assert "1 call was refused (knock)" in done.stderr
    done = h.cli("run look --no-input --fail-on-deny --json")
    assert (done.exit_code, "refused" in result(done)) == (0, False)
