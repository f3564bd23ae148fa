"""A board (such as a plan) is one edited message per turn, also after faults and kills."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Plugin, ToolOutput, tool

from .conftest import SMALL, ChannelProcess, Platform

LISTS = ["○ one\n○ two", "✓ one\n▸ two", "✓ one\n✓ two"]


class Listing(Plugin):
    """Shows a list again and again."""

    go: asyncio.Event | None = None

    @tool(read_only=True)
    async def show(self, text: str) -> ToolOutput:
        """Show a text in place of the one before."""
        return ToolOutput("ok", data={"board": "short"}, shown=text)

    @tool(read_only=True)
    async def wait(self) -> str:
        """Wait."""
        if Listing.go is not None:
            await Listing.go.wait()
        return "waited"


@pytest.fixture(autouse=True)
def _free() -> Any:
    yield
    Listing.go = None


def answers(*lists: str, then: str = "All is done.") -> dict[str, Any]:
    """What the model does: it shows each list, and answers."""
    shows = [calls("show", text=text) for text in lists]
    return {"go": shows[0], "": [*shows[1:], then]}


async def boards_of(process: ChannelProcess) -> list[str]:
    """What is recorded of boards."""
    return await process.kit.host.storage.kv.keys("board:")


async def wait_until_done(process: ChannelProcess) -> None:
    """Wait until the turn and its board are done with."""
    await process.idle()
    async with asyncio.timeout(60):
        while await boards_of(process):
            await asyncio.sleep(0.01)


async def test_board_is_one_edited_message(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, answers(*LISTS), Listing)
    await one.say("go")
    await wait_until_done(one)
    board, reply = platform.chat("c")
    assert (board.text, board.rich, reply.text) == (LISTS[-1], False, "All is done.")
    assert board.texts == [text for text in LISTS if text in board.texts]


async def test_each_turn_has_its_own_board(start_channel: Any, platform: Platform) -> None:
    script = answers(LISTS[0], then="first") | {"more": calls("show", text=LISTS[1])}
    script[""] = ["first", "second"]
    one = await start_channel(platform, script, Listing)
    await one.say("go")
    await wait_until_done(one)
    await one.say("more")
    await wait_until_done(one)
    assert platform.texts("c") == [LISTS[0], "first", LISTS[1], "second"]


async def test_board_without_edits_keeps_the_first_text(
    start_channel: Any, platform: Platform
) -> None:
    one = await start_channel(platform, answers(*LISTS), Listing)
    one.client.can = frozenset({"typing"})  # type: ignore[misc]
    await one.say("go")
    await wait_until_done(one)
    assert len(platform.chat("c")) == 2
    assert platform.chat("c")[0].texts == [platform.chat("c")[0].text]


async def test_board_reserves_the_last_edit(start_channel: Any) -> None:
    platform = Platform(replace(SMALL, edits=2))
    one = await start_channel(
        platform, answers(*[f"{n}" for n in range(12)]), Listing, stream=False
    )
    await one.say("go")
    await wait_until_done(one)
    board, _ = platform.chat("c")
    assert board.text == "11"
    assert len(board.texts) <= 3


async def test_board_is_cut_to_one_message(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(
        platform, answers("\n".join(f"○ step number {n}" for n in range(40))), Listing
    )
    await one.say("go")
    await wait_until_done(one)
    board, _ = platform.chat("c")
    assert board.text.startswith("○ step number 0\n")
    assert board.text.endswith("\n…")


@pytest.mark.parametrize("fault", ["away", "slow down", "lost"])
async def test_board_survives_errors(start_channel: Any, platform: Platform, fault: str) -> None:
    one = await start_channel(platform, answers(*LISTS), Listing)
    platform.faults = dict.fromkeys((1, 3), fault)
    await one.say("go")
    await wait_until_done(one)
    boards = [text for text in platform.texts("c") if text != "All is done."]
    assert boards[-1] == LISTS[-1]
    assert len(boards) <= (2 if fault == "lost" else 1)
    assert len(platform.texts("c")) == len(boards) + 1


async def test_board_is_shown_after_a_chat_was_gone(start_channel: Any, platform: Platform) -> None:
    script = answers(*LISTS) | {"more": calls("show", text="○ more")}
    script[""].append("The end.")
    one = await start_channel(platform, script, Listing)
    platform.gone.add("c")
    await one.say("go")
    await wait_until_done(one)
    platform.gone.clear()
    await one.say("more")
    await wait_until_done(one)
    assert sorted(platform.texts("c")) == ["The end.", "○ more"]


async def test_board_is_not_repeated_without_an_answer(
    start_channel: Any, platform: Platform
) -> None:
    """It may stand there already, and this platform cannot tell."""
    platform.fault = lambda name, _chat, text: (
        "no answer" if name == "text" and "one" in text and not platform.chat("c") else None
    )
    one = await start_channel(platform, answers(*LISTS), Listing)
    await one.say("go")
    await wait_until_done(one)
    assert len(platform.chat("c")) == 2


@pytest.mark.parametrize("when", ["kill before", "kill after"])
@pytest.mark.parametrize("finds", [True, False])
async def test_board_is_continued_by_the_next_process(
    start_channel: Any, platform: Platform, when: str, finds: bool
) -> None:
    platform.finds = finds
    Listing.go = asyncio.Event()
    script = {"go": calls("show", text=LISTS[0]), "": [calls("wait"), "All is done."]}
    one = await start_channel(platform, script, Listing)
    platform.faults = {1: when}
    await one.say("go")
    await one.idle()
    one.model.answers[""] = [calls("show", text=LISTS[2]), "All is done."]
    Listing.go.set()
    # Where the platform cannot tell whether it stands there, none is sent again.
    boards = [LISTS[2]] if finds else [LISTS[0]] if when == "kill after" else []
    nxt = await one.again()
    try:
        await wait_until_done(nxt)
        with suppress(TimeoutError):  # the result is checked below
            async with asyncio.timeout(60):
                while platform.texts("c") != [*boards, "All is done."]:
                    await asyncio.sleep(0.01)
    finally:
        await nxt.close()
    assert platform.texts("c") == [*boards, "All is done."]


async def test_board_needs_a_board_result(start_channel: Any, platform: Platform) -> None:
    script = {"go": calls("wait"), "": "done"}
    one = await start_channel(platform, script, Listing)
    await one.say("go")
    await wait_until_done(one)
    assert platform.texts("c") == ["done"]


async def test_board_stays_in_its_chat(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, answers(*LISTS), Listing)
    await one.say("go", "mine")
    await wait_until_done(one)
    assert {message.chat for message in platform.shown.values()} == {"mine"}
