"""``hookline pairing``, as core runs it, and what it changes in a gateway that is running."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import CLAIM, MakeTown, Run, Town, code_in

Says = Callable[[], tuple[str, str]]


async def pairing(town: Town, name: str, *args: Any, **options: bool) -> int:
    """Run ``hookline pairing NAME``, print what it prints, and return the exit code."""
    words = [f"--{option}" for option, value in options.items() if value]
    done = await town.h.acli(shlex.join(["pairing", name, *words, "--", *map(str, args)]))
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.exit_code


def test_pairing_code_is_approved(town: MakeTown, run: Run, capsys: Any) -> None:
    async def story(town: Town) -> Any:
        code = code_in(await town.say("ann", "hello"))
        done = await pairing(town, "approve", code.lower())
        return done, await town.say("ann", "hello")

    assert run(town(model=["hi"], admins=["fake:boss"]), story) == (0, "hi")
    assert (
        capsys.readouterr().out
        == "fake:ann may write now. They have to send their message again.\n"
    )


def test_pairing_code_is_approved_as_admin(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        code = code_in(await town.say("ann", "hello"))
        await pairing(town, "approve", code, admin=True)
        return await town.say("ann", "/pair")

    assert run(town(), story) == "No one is waiting to be let in."


@pytest.mark.parametrize("code", ["BBBBBBBB", "", "x", "\x1b[2J"])
def test_wrong_code_fails(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    async def story(town: Town) -> int:
        return await pairing(town, "approve", code)

    assert run(town(), story) == 1
    err = capsys.readouterr().err
    assert "no open request has the code" in err
    assert "\x1b" not in err


def test_person_is_revoked_while_the_gateway_runs(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        code = code_in(await town.say("ann", "hello"))
        await pairing(town, "approve", code)
        before = await town.say("ann", "hello")
        done = await pairing(town, "revoke", "fake:ann")
        return before, done, await town.say("ann", "hello")

    before, done, after = run(town(model=["hi"], admins=["fake:boss"]), story)
    assert (before, done) == ("hi", 0)
    assert "do not know you" in after


def test_block_overrides_the_allow_list(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> Any:
        await pairing(town, "block", "fake:ann")
        blocked = await town.say("ann", "hello")
        revoked = await pairing(town, "revoke", "fake:ann")
        return blocked, revoked, await town.say("ann", "hello")

    blocked, revoked, after = run(town(model=["hi"], allow=["fake:*"]), story)
    assert "do not know you" in blocked
    assert (revoked, after) == (0, "hi")


@pytest.mark.parametrize(
    ("name", "person", "told"),
    [
        ("revoke", "fake:nobody", "is not known"),
        ("revoke", "fake:boss", "Remove the entry there"),
        ("revoke", "nobody", "is not a person"),
        ("block", "fake:boss", "is an admin in config.yaml"),
        ("block", ":x", "is not a person"),
    ],
)
def test_impossible_revoke_or_block_gives_an_error_sentence(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str], name: str, person: str, told: str
) -> None:
    async def story(town: Town) -> int:
        return await pairing(town, name, person)

    assert run(town(admins=["fake:boss"]), story) == 1
    assert told in capsys.readouterr().err


def test_claim_command_code_works_beside_the_printed_one(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(town: Town) -> Any:
        await pairing(town, "claim")
        (code,) = CLAIM.findall(capsys.readouterr().out)
        await town.say("ann", "hello")
        claimed = await town.say("ann", code)
        return claimed, await pairing(town, "claim")

    claimed, second = run(town(), story)
    assert claimed.startswith("You are the first admin now.")
    assert second == 1


def test_list_and_log_show_people_and_decisions(
    town: MakeTown, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(town: Town) -> Any:
        code = code_in(await town.say("ann", "hello"))
        await pairing(town, "approve", code)
        waiting = code_in(await town.say("eve\u202e", "hello"))
        await pairing(town, "block", "fake:bob")
        capsys.readouterr()
        await pairing(town, "list", json=True)
        rows = json.loads(capsys.readouterr().out)
        await pairing(town, "list")
        shown = capsys.readouterr().out
        await pairing(town, "log", json=True)
        return waiting, rows, shown, json.loads(capsys.readouterr().out)

    waiting, rows, shown, log = run(town(admins=["fake:boss", "fake:*", "x"]), story)
    assert [(row["person"], row["role"], row["by"], row["code"]) for row in rows] == [
        ("fake:boss", "admin", "config.yaml", ""),
        ("fake:ann", "member", "terminal", ""),
        ("fake:bob", "blocked", "terminal", ""),
        ("fake:eve\u202e", "waiting", "itself", waiting),
    ]
    assert "fake:eve\\u202e" in shown
    assert [(one["person"], one["what"]) for one in reversed(log)] == [
        ("fake:ann", "asked to be let in"),
        ("fake:ann", "let in as member by terminal"),
        ("fake:eve\u202e", "asked to be let in"),
        ("fake:bob", "blocked by terminal"),
    ]
