"""An admin is operator in a chat where no one else reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hookline.testing import Harness, calls
from hookline_access import AccessControl

from .conftest import Chats, MakeChats, Run

RANK = calls("rank")
BOSS = {"admins": ["fake:boss"], "allow": ["fake:*"]}


def ranks(chats: MakeChats, run: Run, *said: tuple[str, str], **options: Any) -> list[str]:
    """The result of the tool ``rank`` for each message."""

    async def story(chats: Chats) -> list[str]:
        for user, chat in said:
            await chats.say(user, "rank?", chat)
        return [call.result.text for call in chats.h.hooks["tool"]]

    model = [step for _ in said for step in (RANK, "ok")]
    return run(chats(model=model, **{**BOSS, **options}), story)  # type: ignore[no-any-return]


def test_admin_in_own_chat_is_operator(chats: MakeChats, run: Run) -> None:
    assert ranks(chats, run, ("boss", "boss")) == ["operator"]


def test_member_is_not_operator(chats: MakeChats, run: Run) -> None:
    assert ranks(chats, run, ("ann", "ann"), ("ann", "boss")) == ["guest", "guest"]


def test_admin_in_a_group_is_not_operator(chats: MakeChats, run: Run) -> None:
    assert ranks(chats, run, ("boss", "group")) == ["guest"]


def test_admin_is_not_operator_after_someone_else_wrote(chats: MakeChats, run: Run) -> None:
    said = [("boss", "boss"), ("ann", "boss"), ("boss", "boss")]
    assert ranks(chats, run, *said) == ["operator", "guest", "guest"]


def test_admin_is_not_operator_if_someone_else_wrote_before(chats: MakeChats, run: Run) -> None:
    assert ranks(chats, run, ("ann", "boss"), ("boss", "boss")) == ["guest", "guest"]


def test_admin_is_not_operator_after_a_stranger_tried_to_write(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str]:
        for user in ("boss", "eve", "boss"):
            await chats.say(user, "rank?", "boss")
        return [call.result.text for call in chats.h.hooks["tool"]]

    one = chats(model=[RANK, "ok", RANK, "ok"], admins=["fake:boss"])
    assert run(one, story) == ["operator", "guest"]


def test_shared_chat_stays_shared_after_a_restart(
    chats: MakeChats, run: Run, harness: Callable[..., Harness]
) -> None:
    one = chats(model=["hi"] * 2, **BOSS)

    async def story(chats: Chats) -> None:
        await chats.say("boss", "hello", "boss")
        await chats.say("ann", "hello", "boss")

    run(one, story)
    one.h.close()
    from .conftest import Launcher

    again = harness(
        AccessControl, Launcher, home=one.h.home, config={"access": BOSS}, model=[RANK, "ok"]
    )

    async def later(chats: Chats) -> list[str]:
        await chats.say("boss", "rank?", "boss", id_="later")
        return [call.result.text for call in chats.h.hooks["tool"]]

    assert run(Chats(again), later) == ["guest"]


def test_message_says_whether_its_chat_is_private(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str]:
        await chats.h.aopen()
        for number, (chat, private) in enumerate([("d9", True), ("boss", False), ("d9", None)], 1):
            await chats.h.channel.say("rank?", chat=chat, user="boss", private=private)
            await chats.h.channel.replies(number)
        return [call.result.text for call in chats.h.hooks["tool"]]

    one = chats(model=[RANK, "ok"] * 3, **BOSS)
    assert run(one, story) == ["operator", "guest", "operator"]


def test_private_chat_with_a_second_writer_is_not_private(chats: MakeChats, run: Run) -> None:
    async def story(chats: Chats) -> list[str]:
        await chats.h.aopen()
        for number, user in enumerate(["boss", "ann", "boss"], 1):
            await chats.h.channel.say("rank?", chat="d9", user=user, private=True)
            await chats.h.channel.replies(number)
        return [call.result.text for call in chats.h.hooks["tool"]]

    one = chats(model=[RANK, "ok"] * 3, **BOSS)
    assert run(one, story) == ["operator", "guest", "guest"]


def test_operator_command_is_refused_for_others(chats: MakeChats, run: Run) -> None:
    from hookline_hookspecs import Plugin, command

    class Master(Plugin):
        @command("/key", audience="operator")
        def key(self, ctx: Any, args: str) -> str:
            """The key."""
            return "42"

    async def story(chats: Chats) -> list[str | None]:
        return [
            await chats.say("ann", "/key"),
            await chats.say("boss", "/key", "group"),
            await chats.say("boss", "/key"),
        ]

    refused = "/key works only in the terminal and in an admin's private chat."
    assert run(chats(Master, **BOSS), story) == [refused, refused, "42"]
