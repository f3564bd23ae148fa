"""Each role on channels and the command line, by the table in ``roles.yaml``."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hookline_access.roles import role_table

from .conftest import LAUNCH, Chats, MakeChats, Run, installed

ROLES = ("admin", "member", "auditor")
LISTS = {"admins": ["fake:admin"], "allow": ["fake:member"], "auditors": ["fake:auditor"]}
NOTHING_ELSE = "You are an auditor here"


def test_roles_and_actions_of_the_table_are_known() -> None:
    found = role_table()
    assert [*found.roles] == ["operator", *ROLES]
    for action in found.actions.values():
        assert action.what
        assert action.may <= {*found.roles}
    assert not found.may("stranger", "chat")
    assert not found.may("operator", "nothing")


@pytest.mark.long
@pytest.mark.parametrize("role", [*ROLES, "stranger"])
def test_channel_permissions_match_the_table(chats: MakeChats, run: Run, role: str) -> None:
    async def story(chats: Chats) -> None:
        said = {
            text: await chats.say(role, text) or ""
            for text in ("/whoami", "/insights", "/pair", "/plugins", "hello")
        }
        known = role != "stranger"
        assert (role in said["/whoami"]) is known
        assert ("All chats" in said["/insights"]) is (role in ("admin", "auditor"))
        assert ("This chat" in said["/insights"]) is (role == "member")
        assert ("No one is waiting" in said["/pair"]) is (role == "admin")
        assert (said["hello"] == "hi") is (role in ("admin", "member"))
        for text in ("/pair", "/plugins", "hello"):
            assert said[text].startswith(NOTHING_ELSE) is (role == "auditor"), text

    run(chats(installed("insights"), model=["hi"], **LISTS), story)


def test_auditor_is_refused_in_groups_and_for_forwarded_messages(
    chats: MakeChats, run: Run
) -> None:
    async def story(chats: Chats) -> None:
        answer = await chats.say("auditor", "/insights", chat="group")
        assert "only in a private chat" in (answer or "")
        assert "auditor" in (await chats.say("auditor", "/whoami", chat="group") or "")
        forwarded = await chats.say("auditor", "/insights", forwarded=True)
        assert (forwarded or "").startswith(NOTHING_ELSE)

    run(chats(installed("insights"), **LISTS), story)


def test_auditor_cannot_approve(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> None:
        await chats.say("admin", "hello")
        await chats.begin("member", "launch it")
        shown = await chats.until("admin", "For fake:member")
        id_ = shown.question
        for text in ("1", f"/questions answer {id_} once", "/approve"):
            answer = await chats.say("auditor", text, reply_to=chats.delivered(shown))
            assert (answer or "").startswith(NOTHING_ELSE)
        pressed = await chats.say("auditor", "Allow once", kind="press", question=id_)
        assert (pressed or "").startswith(NOTHING_ELSE)
        assert await chats.say("admin", "Deny") == "Answered: Deny."
        await chats.until("member", "done")

    one = chats(installed("approvals"), model=["hi", *LAUNCH], **LISTS)
    run(one, story)
    assert one.h.hooks["tool"] == []


def test_name_in_two_lists_gets_the_lower_role(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> None:
        assert (await chats.say("x", "hello") or "").startswith(NOTHING_ELSE)
        assert (await chats.say("y", "hello") or "").startswith(NOTHING_ELSE)

    lists = {"admins": ["fake:x"], "allow": ["fake:*"], "auditors": ["fake:x", "fake:y"]}
    made = chats(**lists)
    run(made, story)


def test_pairing_command_makes_and_revokes_an_auditor(chats: MakeChats, run: Run) -> None:
    made = chats(admins=["fake:boss"], model=["hi"])
    assert made.h.cli("pairing approve fake:ann --admin --auditor").exit_code == 2
    done = made.h.cli("pairing approve fake:ann --auditor")
    assert "and nothing else" in done.stdout
    assert ("auditor", "fake:ann") in [
        (line.split()[0], line.split()[1])
        for line in made.h.cli("pairing list").stdout.splitlines()
    ]
    assert (run(made, lambda chats: chats.say("ann", "hello")) or "").startswith(NOTHING_ELSE)
    assert made.h.cli("pairing revoke fake:ann").exit_code == 0
    answer = run(made, lambda chats: chats.say("ann", "hello"))
    assert not (answer or "").startswith(NOTHING_ELSE)


# The command line


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose config knows the accounts of this machine as ``users`` says."""
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


def others() -> list[pwd.struct_passwd]:
    """Accounts of this machine that are not the one that runs the tests."""
    return [one for one in pwd.getpwall() if one.pw_uid != os.getuid()]


def hookline(home: Path, *words: str, as_: int | None, config: str) -> Any:
    """Run ``hookline`` as a user through sudo, or as the account itself."""
    (home / "config.yaml").write_text(config)
    env = {**os.environ, "HOOKLINE_HOME": str(home)}
    env.pop("SUDO_UID", None)
    if as_ is not None:
        env["SUDO_UID"] = str(as_)
    command = [sys.executable, "-m", "hookline", *words]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )


RUNS = {
    "admin": {"insights", "pairing list", "prices list"},
    "member": set[str](),
    "auditor": {"insights", "prices list"},
    "unlisted": set[str](),
    "account": {"insights", "prices list", "pairing list", "config path", "vault list"},
}
COMMANDS = sorted(RUNS["account"])


@pytest.mark.slow
@pytest.mark.parametrize("role", RUNS)
def test_command_line_permissions_match_the_table(home: Path, role: str) -> None:
    person = others()[0]
    listed = {} if role in ("unlisted", "account") else {person.pw_name: role}
    listed |= {"somebody": "auditor"}
    config = f"plugins: {{access: {{os_users: {listed}}}}}\n"
    for words in COMMANDS:
        as_ = None if role == "account" else person.pw_uid
        done = hookline(home, *words.split(), as_=as_, config=config)
        assert (done.returncode == 0) is (words in RUNS[role]), (words, done.stderr)
        if words not in RUNS[role]:
            assert done.returncode == 2
            assert person.pw_name in done.stderr
            assert "os_users" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["os_users: [", "plugins: {access: {os_users: 3}}", "os_users"])
def test_only_the_home_owner_runs_commands_if_the_list_is_unreadable(
    home: Path, broken: str
) -> None:
    assert hookline(home, "config", "path", as_=None, config=broken).returncode == 0
    refused = hookline(home, "config", "path", as_=others()[0].pw_uid, config=broken)
    assert refused.returncode == 2
    assert "not in access.os_users" in refused.stderr
