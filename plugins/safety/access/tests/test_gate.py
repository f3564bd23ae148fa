"""Whose messages get through: strangers, listed and paired people, admins, groups, odd ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_access import AccessControl
from hookline_hookspecs import Plugin, StoreError, hookimpl
from support.matrices import sampled

from .conftest import Chats, MakeChats, Run, code_in


async def says_hello(chats: Chats) -> str | None:
    return await chats.say("ann", "hello")


def test_message_of_a_stranger_reaches_no_model(chats: MakeChats, run: Run) -> None:
    one = chats(model=["hi"], admins=["fake:boss"])
    answer = run(one, says_hello)
    assert answer is not None
    assert answer.startswith("I do not know you yet.")
    assert one.h.model.requests == []


@pytest.mark.parametrize("lists", [{"allow": ["fake:ann"]}, {"admins": ["fake:ann"]}])
def test_listed_people_get_through(chats: MakeChats, run: Run, lists: dict[str, Any]) -> None:
    assert run(chats(model=["hi"], **lists), says_hello) == "hi"


def test_wildcard_lets_in_everybody_on_a_channel(chats: MakeChats, run: Run) -> None:
    assert run(chats(model=["hi"], allow=["fake:*"]), says_hello) == "hi"


NOT_ANN = [
    *("fake:Ann", "fake:ann ", "fake: ann", "FAKE:ann", "other:ann", "fake:an", "fake:anna"),
    *("other:*", "*:ann", "*:*", "*", "ann", "fake:", ":ann", "fake:ann:*", "fake:a*"),
    "fake:a\u0144n",
]


@sampled("entry", NOT_ANN)
def test_user_ids_are_compared_literally(chats: MakeChats, run: Run, entry: str) -> None:
    answer = run(chats(model=["hi"], allow=[entry], admins=["fake:boss", entry]), says_hello)
    assert answer is not None
    assert answer.startswith("I do not know you yet.")


def test_code_is_shown_only_in_private(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str | None]:
        return [
            await chats.say("ann", "hello", "group", private=False),
            await chats.say("ann", "hello again", "group", private=False),
            await chats.say("ann", "hello", private=True),
            await chats.say("ann", "hello?", private=True),
        ]

    in_group, again, private, more = run(chats(admins=["fake:boss"]), story)
    assert in_group == "I do not know you yet. Write to me in a private chat to be let in."
    assert "Give this code" in private
    assert (again, more) == (None, None)


def test_wildcard_in_admins_is_ignored(chats: MakeChats, run: Run) -> None:
    one = chats(model=["hi"], admins=["fake:*"])
    assert "do not know you" in str(run(one, says_hello))


def test_user_id_with_colons_is_found(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> str | None:
        return await chats.say("@ann:home.org", "hello")

    assert run(chats(model=["hi"], allow=["fake:@ann:home.org"]), story) == "hi"


def test_group_message_is_judged_by_its_sender(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str | None]:
        return [
            await chats.say("ann", "hello", "group"),
            await chats.say("eve", "hello", "group"),
            await chats.say("ann", "hello again", "group"),
        ]

    known, stranger, again = run(chats(model=["one", "two"], allow=["fake:ann"]), story)
    assert (known, again) == ("one", "two")
    assert "do not know you" in stranger


@pytest.mark.parametrize("user", ["", "\0", "\ud800", "a\0b", "x" * 1001])
def test_invalid_user_id_gets_no_reply(chats: MakeChats, run: Run, user: str) -> None:
    async def story(chats: Chats) -> object:
        return await chats.judge(user, "hello")

    denied = run(chats(allow=["fake:*"]), story)
    assert denied.reason == ""


def test_slash_commands_of_a_stranger_do_nothing(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str | None]:
        return [
            await chats.say("eve", text) for text in ("/whoami", "/help", "/stop", "/model x/y")
        ]

    first, *others = run(chats(admins=["fake:boss"]), story)
    assert "do not know you" in first
    assert others == [None, None, None]


def test_terminal_is_always_the_operator(harness: Callable[..., Harness]) -> None:
    h = harness(AccessControl, model=["hi"])
    assert h.send("hello").text == "hi"


def test_sub_agent_needs_no_entry(harness: Callable[..., Harness]) -> None:
    class Parent(Plugin):
        @hookimpl
        async def pre_prompt(self, ctx: Any, turn: Any) -> None:
            if turn.session.kind == "chat":
                await ctx.host.run_turn("think", parent=ctx)

    h = harness(AccessControl, Parent, config={"access": {}}, model=["thought", "done"])
    assert h.send("go").text == "done"


@pytest.mark.parametrize(("failures", "told"), [(2, "hi"), (99, "could not be checked")])
def test_failing_store_lets_no_one_in_until_it_works(
    harness: Callable[..., Harness],
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    failures: int,
    told: str,
) -> None:
    monkeypatch.setattr("hookline.dispatch.processor.GATE_PAUSES", (0.01,) * 3)
    settings = {"allow": ["fake:ann"]}
    one = Chats(harness(AccessControl, config=settings, model=["hi"], strict=False))

    async def story(chats: Chats) -> str | None:
        await chats.h.aopen()
        fetch, left = chats.host.storage.fetch, failures

        async def broken(*arguments: object, **options: object) -> object:
            nonlocal left
            if left:
                left -= 1
                raise StoreError("the disk is gone")
            return await fetch(*arguments, **options)

        monkeypatch.setattr(chats.host.storage, "fetch", broken)
        return await chats.say("ann", "hello")

    answer = run(one, story)
    assert answer is not None
    assert told in answer
    assert "disk" not in answer


def test_invalid_settings_let_no_one_in(chats: MakeChats, run: Run) -> None:
    one = chats(model=["hi"], allow="fake:ann", admins=7, code_minutes="soon", claim_minutes=-1)
    answer = run(one, says_hello)
    assert "do not know you" in str(answer)
    assert code_in(answer)
    ((_, lists),) = [pair for pair in one.h.checks() if pair[1].name == "lists"]
    result: Any = lists.run()
    assert not result.ok
    for name in ("allow", "admins", "code_minutes", "claim_minutes"):
        assert f"access.{name}" in result.detail


def test_doctor_names_an_invalid_entry(chats: MakeChats) -> None:
    one = chats(allow=["telegram:1", "5"], admins=["telegram:*"])
    result: Any = next(check for _, check in one.h.checks() if check.name == "lists").run()
    assert "'5'" in result.detail
    assert "'telegram:*'" in result.detail
    assert "'telegram:1'" not in result.detail
