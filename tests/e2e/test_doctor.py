"""``hookline doctor``: common mistakes, each with its own message."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import pytest
from support.machine import Machine

Seed = Callable[[Machine], None]


def config(text: str) -> Seed:
    return lambda machine: void(machine.config(text))


def variable(name: str, value: str) -> Seed:
    return lambda machine: machine.env.update({name: value})


def void(_: object) -> None:
    """Nothing."""


def env_file(text: str, mode: int = 0o600) -> Seed:
    def seed(machine: Machine) -> None:
        machine.home.mkdir(mode=0o700, exist_ok=True)
        (machine.home / ".env").write_text(text)
        (machine.home / ".env").chmod(mode)

    return seed


def open_home(machine: Machine) -> None:
    machine.home.mkdir()
    machine.home.chmod(0o755)


def newer_database(machine: Machine) -> None:
    assert machine.run("plugins", "list").code == 0
    with closing(sqlite3.connect(machine.home / "hookline.db")) as db, db:
        db.execute(
            "INSERT INTO migrations SELECT component, 99, name, checksum, applied "
            "FROM migrations WHERE component = 'core' AND number = 1"
        )


def no_database(machine: Machine) -> None:
    machine.home.mkdir(mode=0o700)
    (machine.home / "hookline.db").write_bytes(b"this is no database, it is a letter " * 50)


def home_is_a_file(machine: Machine) -> None:
    machine.home.write_text("I am a file")


def soul_is_binary(machine: Machine) -> None:
    machine.home.mkdir(mode=0o700)
    (machine.home / "SOUL.md").write_bytes(b"\x00\xff\x00")


@dataclass(frozen=True)
class Fault:
    """A mistake, and words that the check's message and fix must hold."""

    name: str
    seed: Seed
    words: tuple[str, ...]
    hint: bool = False
    """It is told and is no failure: somebody has chosen it."""


FAULTS = (
    Fault("no YAML", config("model: [\n"), ("config.yaml:", "not YAML")),
    Fault("tabs", config("plugins:\n\tfiles: true\n"), ("config.yaml:2", "spaces")),
    Fault("a key twice", config("model: a/b\nmodel: c/d\n"), ("written twice", "line 1")),
    Fault("a misspelt key", config("sesion: {}\n"), ("sesion", "session")),
    Fault("a misspelt key inside", config("session: {idle_hour: 3}\n"), ("idle_hours",)),
    Fault(
        "text for a number", config("max_iterations: many\n"), ("max_iterations", "whole number")
    ),
    Fault("no iterations", config("max_iterations: 0\n"), ("max_iterations", "found 0")),
    Fault(
        "a variable of the wrong type",
        variable("HOOKLINE_MAX_ITERATIONS", "ten"),
        ("HOOKLINE_MAX_ITERATIONS",),
    ),
    Fault(
        "an unset variable",
        config("operator_message: ${NOT_SET_ANYWHERE}\n"),
        ("NOT_SET_ANYWHERE",),
    ),
    Fault("a model without provider", config("model: gpt-5\n"), ("gpt-5", "provider/model")),
    Fault("an unknown provider", config("model: antropic/claude\n"), ("antropic", "anthropic")),
    Fault(
        "a bad base URL",
        config("model: openai/gpt-5\nproviders: {openai: {base_url: 'localhost'}}\n"),
        ("base_url", "localhost"),
    ),
    Fault(
        "secrets that all can read", env_file("OPENAI_API_KEY=sk-x\n", 0o644), (".env", "chmod 600")
    ),
    Fault("a line that is no variable", env_file("OPENAI_API_KEY sk-x\n"), (".env:1", "KEY=VALUE")),
    Fault("a home that all can read", open_home, ("chmod 700",)),
    Fault("a home that is a file", home_is_a_file, ("no folder", "--home")),
    Fault(
        "a plugin that is not installed",
        config("plugins: {ghost: true}\n"),
        ("ghost", "not installed"),
    ),
    Fault(
        "a bad setting", config("plugins: {shell: {timeout: soon}}\n"), ("shell", "timeout", "soon")
    ),
    Fault(
        "an unknown setting", config("plugins: {shell: {time_out: 3}}\n"), ("time_out", "timeout")
    ),
    Fault("a switch that is no switch", config("plugins: {files: maybe}\n"), ("files", "maybe")),
    Fault(
        "a guard without patterns",
        config("plugins: {shell: {dangerous_patterns: []}}\n"),
        ("dangerous_patterns",),
        hint=True,
    ),
    Fault(
        "a bad pattern",
        config("plugins: {shell: {dangerous_patterns: ['(']}}\n"),
        ("dangerous_patterns", "("),
    ),
    Fault(
        "a workspace that is not there",
        config("workspace: /nowhere/at/all\n"),
        ("/nowhere/at/all", "workspace"),
    ),
    Fault(
        "a store that is not installed",
        config("store: nimbus://localhost/x\n"),
        ("nimbus", "hookline-nimbus"),
    ),
    Fault("a newer database", newer_database, ("newer",)),
    Fault("a file that is no database", no_database, ("hookline.db",)),
    Fault("a soul that is no text", soul_is_binary, ("SOUL.md",)),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=[pytest.mark.sqlite] if "database" in fault.name else [])
        for fault in FAULTS
    ],
    ids=lambda fault: fault.name,
)
def test_doctor_gives_a_sentence_and_a_fix_for_each_fault(machine: Machine, fault: Fault) -> None:
    if not any(word in fault.name for word in ("model", "provider", "URL")):
        machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello"})
    fault.seed(machine)
    done = machine.run("doctor", "--json")
    assert "Traceback" not in done.err
    found = [row for row in done.json if not row["ok"] or (fault.hint and row["fix"])]
    told = [f"{row['detail']} {row['fix']}" for row in found]
    assert any(all(word in text for word in fault.words) for text in told), done
    if fault.hint:
        assert done.code == 0
    else:
        assert done.code in (1, 2)
        assert len(found) == 1, told
        assert found[0]["fix"]


def test_doctor_messages_are_distinct() -> None:
    assert len({fault.words for fault in FAULTS}) == len(FAULTS) >= 20
