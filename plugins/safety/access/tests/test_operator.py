"""Who is operator: an admin, in a chat where nobody else reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hookline.testing import Harness, calls
from hookline_access import AccessControl

from .conftest import MakeTown, Run, Town

RANK = calls("rank")
BOSS = {"admins": ["fake:boss"], "allow": ["fake:*"]}


def ranks(town: MakeTown, run: Run, *said: tuple[str, str], **options: Any) -> list[str]:
    """What each message's author is told by the tool ``rank``."""

    async def story(town: Town) -> list[str]:
        for user, chat in said:
            await town.say(user, "rank?", chat)
        return [call.result.text for call in town.h.hooks["tool"]]

    model = [step for _ in said for step in (RANK, "ok")]
    return run(town(model=model, **{**BOSS, **options}), story)  # type: ignore[no-any-return]


def test_admin_in_own_chat_is_operator(town: MakeTown, run: Run) -> None:
    assert ranks(town, run, ("boss", "boss")) == ["operator"]


def test_member_is_not_operator(town: MakeTown, run: Run) -> None:
    assert ranks(town, run, ("ann", "ann"), ("ann", "boss")) == ["guest", "guest"]


def test_admin_in_a_group_is_not_operator(town: MakeTown, run: Run) -> None:
    assert ranks(town, run, ("boss", "group")) == ["guest"]


def test_admin_is_not_operator_after_someone_else_wrote(town: MakeTown, run: Run) -> None:
    said = [("boss", "boss"), ("ann", "boss"), ("boss", "boss")]
    assert ranks(town, run, *said) == ["operator", "guest", "guest"]


def test_admin_is_not_operator_if_someone_else_wrote_before(town: MakeTown, run: Run) -> None:
    assert ranks(town, run, ("ann", "boss"), ("boss", "boss")) == ["guest", "guest"]


def test_admin_is_not_operator_after_a_stranger_tried_to_write(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[str]:
        for user in ("boss", "eve", "boss"):
            await town.say(user, "rank?", "boss")
        return [call.result.text for call in town.h.hooks["tool"]]

    one = town(model=[RANK, "ok", RANK, "ok"], admins=["fake:boss"])
    assert run(one, story) == ["operator", "guest"]


def test_shared_chat_stays_shared_after_a_restart(
    town: MakeTown, run: Run, harness: Callable[..., Harness]
) -> None:
    one = town(model=["hi"] * 2, **BOSS)

    async def story(town: Town) -> None:
        await town.say("boss", "hello", "boss")
        await town.say("ann", "hello", "boss")

    run(one, story)
    one.h.close()
    from .conftest import Launcher

    again = harness(
        AccessControl, Launcher, home=one.h.home, config={"access": BOSS}, model=[RANK, "ok"]
    )

    async def later(town: Town) -> list[str]:
        await town.say("boss", "rank?", "boss", id_="later")
        return [call.result.text for call in town.h.hooks["tool"]]

    assert run(Town(again), later) == ["guest"]


def test_message_says_whether_its_chat_is_private(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[str]:
        await town.h.aopen()
        for number, (chat, private) in enumerate([("d9", True), ("boss", False), ("d9", None)], 1):
            await town.h.channel.say("rank?", chat=chat, user="boss", private=private)
            await town.h.channel.replies(number)
        return [call.result.text for call in town.h.hooks["tool"]]

    one = town(model=[RANK, "ok"] * 3, **BOSS)
    assert run(one, story) == ["operator", "guest", "operator"]


def test_private_chat_with_a_second_writer_is_not_private(town: MakeTown, run: Run) -> None:
    async def story(town: Town) -> list[str]:
        await town.h.aopen()
        for number, user in enumerate(["boss", "ann", "boss"], 1):
            await town.h.channel.say("rank?", chat="d9", user=user, private=True)
            await town.h.channel.replies(number)
        return [call.result.text for call in town.h.hooks["tool"]]

    one = town(model=[RANK, "ok"] * 3, **BOSS)
    assert run(one, story) == ["operator", "guest", "guest"]


def test_operator_command_is_refused_for_others(town: MakeTown, run: Run) -> None:
    from hookline_hookspecs import Plugin, command

    class Master(Plugin):
        @command("/key", audience="operator")
        def key(self, ctx: Any, args: str) -> str:
            """The key."""
            return "42"

    async def story(town: Town) -> list[str | None]:
        return [
            await town.say("ann", "/key"),
            await town.say("boss", "/key", "group"),
            await town.say("boss", "/key"),
        ]

    refused = "/key works only in the terminal and in an admin's private chat."
    assert run(town(Master, **BOSS), story) == [refused, refused, "42"]
