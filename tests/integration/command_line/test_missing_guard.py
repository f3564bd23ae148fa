"""A guard that config.yaml names, but that is not installed."""

from __future__ import annotations

import pytest
from support.machine import Machine
from support.site_packages import Site

MODEL = "model: scripted/steps.yaml\n"


@pytest.fixture(autouse=True)
def known_guard(machine: Machine, site: Site) -> None:
    """A distribution names the guard ``ghost``, whose own distribution is missing."""
    site.metadata("ghost", b"[hookline.guards]\nghost = hookline_ghost:Ghost\n")
    machine.workspace.joinpath("steps.yaml").write_text("steps: [{text: hello there}]\n", "utf-8")


@pytest.mark.long
def test_guard_that_is_named_but_not_installed_stops_turns(machine: Machine) -> None:
    machine.config(MODEL + "plugins: {ghost: true}\n")
    done = machine.run("run", "hi")
    told = done.out + done.err
    assert "the guard 'ghost' is on in config.yaml but could not be loaded: not installed" in told
    assert "hookline plugins disable ghost" in told
    assert "hello there" not in told


@pytest.mark.long
@pytest.mark.parametrize("plugins", ["", "ghost: false"])
def test_guard_that_was_never_switched_on_stops_nothing(machine: Machine, plugins: str) -> None:
    machine.config(f"{MODEL}plugins: {{{plugins}}}\n")
    assert "hello there" in machine.run("run", "hi").out
