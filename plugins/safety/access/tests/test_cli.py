"""``hookline pairing``, as core runs it, and its effect on a running gateway."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import CLAIM, Chats, MakeChats, Run, code_in

Says = Callable[[], tuple[str, str]]


async def pairing(chats: Chats, name: str, *args: Any, **options: bool) -> int:
    """Run ``hookline pairing NAME``, print what it prints, and return the exit code."""
    words = [f"--{option}" for option, value in options.items() if value]
    done = await chats.h.acli(shlex.join(["pairing", name, *words, "--", *map(str, args)]))
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.exit_code


def test_pairing_code_is_approved(chats: MakeChats, run: Run, capsys: Any) -> None:
    async def story(chats: Chats) -> Any:
        code = code_in(await chats.say("ann", "hello"))
        done = await pairing(chats, "approve", code.lower())
        return done, await chats.say("ann", "hello")

    assert run(chats(model=["hi"], admins=["fake:boss"]), story) == (0, "hi")
    assert (
        capsys.readouterr().out
        == "fake:ann may write now. They have to send their message again.\n"
    )


def test_pairing_code_is_approved_as_admin(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        code = code_in(await chats.say("ann", "hello"))
        await pairing(chats, "approve", code, admin=True)
        return await chats.say("ann", "/pair")

    assert run(chats(), story) == "No one is waiting to be let in."


@pytest.mark.parametrize("code", ["BBBBBBBB", "", "x", "\x1b[2J"])
def test_wrong_code_fails(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    async def story(chats: Chats) -> int:
        return await pairing(chats, "approve", code)

    assert run(chats(), story) == 1
    err = capsys.readouterr().err
    assert "no open request has the code" in err
    assert "\x1b" not in err


def test_person_is_revoked_while_the_gateway_runs(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        code = code_in(await chats.say("ann", "hello"))
        await pairing(chats, "approve", code)
        before = await chats.say("ann", "hello")
        done = await pairing(chats, "revoke", "fake:ann")
        return before, done, await chats.say("ann", "hello")

    before, done, after = run(chats(model=["hi"], admins=["fake:boss"]), story)
    assert (before, done) == ("hi", 0)
    assert "do not know you" in after


def test_block_overrides_the_allow_list(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> Any:
        await pairing(chats, "block", "fake:ann")
        blocked = await chats.say("ann", "hello")
        revoked = await pairing(chats, "revoke", "fake:ann")
        return blocked, revoked, await chats.say("ann", "hello")

    blocked, revoked, after = run(chats(model=["hi"], allow=["fake:*"]), story)
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
    chats: MakeChats,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    name: str,
    person: str,
    told: str,
) -> None:
    async def story(chats: Chats) -> int:
        return await pairing(chats, name, person)

    assert run(chats(admins=["fake:boss"]), story) == 1
    assert told in capsys.readouterr().err


def test_claim_command_code_works_beside_the_printed_one(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(chats: Chats) -> Any:
        await pairing(chats, "claim")
        (code,) = CLAIM.findall(capsys.readouterr().out)
        await chats.say("ann", "hello")
        claimed = await chats.say("ann", code)
        return claimed, await pairing(chats, "claim")

    claimed, second = run(chats(), story)
    assert claimed.startswith("You are the first admin now.")
    assert second == 1


def test_list_and_log_show_people_and_decisions(
    chats: MakeChats, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(chats: Chats) -> Any:
        code = code_in(await chats.say("ann", "hello"))
        await pairing(chats, "approve", code)
        waiting = code_in(await chats.say("eve\u202e", "hello"))
        await pairing(chats, "block", "fake:bob")
        capsys.readouterr()
        await pairing(chats, "list", json=True)
        rows = json.loads(capsys.readouterr().out)
        await pairing(chats, "list")
        shown = capsys.readouterr().out
        await pairing(chats, "log", json=True)
        return waiting, rows, shown, json.loads(capsys.readouterr().out)

    waiting, rows, shown, log = run(chats(admins=["fake:boss", "fake:*", "x"]), story)
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
