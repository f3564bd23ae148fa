"""The account: one gateway per bot, the menu, missing permissions, and what doctor finds."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_channelkit import (
    CannotStart,
    ChannelConfig,
    ChannelPlugin,
    Limits,
    LogOnce,
    PermissionDenied,
    PlatformClient,
    SendOptions,
)
from hookline_channelkit.bot_lock import BotLock
from hookline_hookspecs import Attachment, Audio, Check

from .conftest import Platform, until

MakeHarness = Callable[..., Harness]
TOLD = "the scope chat:write is missing; add it"


@pytest.mark.parametrize("is_file", [False, True])
def test_bot_lock_refuses_a_second_gateway(tmp_path: Path, is_file: bool) -> None:
    folder, id_ = (tmp_path / "bots" if is_file else None), secrets.token_hex(8)
    first, second = BotLock(id_, folder), BotLock(id_, folder)
    other = BotLock(f"{id_}-other", folder)
    first.acquire()
    other.acquire()
    with pytest.raises(CannotStart, match="another gateway on this machine"):
        second.acquire()
    assert id_ not in first.name
    first.release()
    second.acquire()
    second.release()
    other.release()
    assert [path.name for path in tmp_path.iterdir()] == ["bots"] * is_file


def test_bot_lock_is_released_when_the_process_dies() -> None:
    id_ = secrets.token_hex(8)
    claim = f"from hookline_channelkit.bot_lock import BotLock as A; a = A({id_!r}); a.acquire(); "
    wait = "print('claimed', flush=True); input()"
    elsewhere = {**os.environ, "HOME": "/nonexistent", "TMPDIR": "/nonexistent"}
    with subprocess.Popen(
        [sys.executable, "-c", claim + wait],
        env=elsewhere,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        mine = BotLock(id_)
        with pytest.raises(CannotStart, match="another gateway on this machine"):
            mine.acquire()
        process.kill()
        process.wait(timeout=60)
        mine.acquire()
        mine.release()


def test_bot_lock_without_identity_allows_many() -> None:
    accounts = [BotLock("") for _ in range(2)]
    for account in accounts:
        account.acquire()
        account.release()


async def test_command_menu_is_set_only_when_it_changes(
    start_channel: Any, platform: Platform
) -> None:
    one = await start_channel(platform, {}, commands={"new": "Begin anew"})
    await until(lambda: platform.menus)
    again = await one.again()
    await again.close()
    assert platform.menus == [{"new": "Begin anew"}]


async def test_command_menu_is_left_alone_if_configured_empty(
    start_channel: Any, platform: Platform
) -> None:
    await start_channel(platform, {}, commands={})
    await asyncio.sleep(0.05)
    assert platform.menus == []


async def test_missing_permission_gives_up_the_reply_and_is_logged_once(
    start_channel: Any, platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    one = await start_channel(platform, {"": "the answer"}, stream=False)

    async def refuses(chat: str, text: str, post: SendOptions) -> str:
        raise PermissionDenied(TOLD)

    one.client.send_text = refuses
    for number in range(2):
        await one.say(str(number), text="hi")
    await one.idle()
    assert platform.texts("c") == []
    assert caplog.text.count(f"permission denied: {TOLD}") == 1
    assert await one.kit.problems.recent() == [TOLD]
    assert await one.records() == []


def test_log_once_repeats_only_after_resolved(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_once = LogOnce(logging.getLogger("test"))
    for _ in range(3):
        log_once.warn("away")
    log_once.resolved("back")
    log_once.resolved("back")
    log_once.warn("away")
    assert [record.message for record in caplog.records] == ["away", "back", "away"]


class PigeonConfig(ChannelConfig):
    token: str = "t"


class PigeonClient(PlatformClient):
    """A client whose platform says what a test wants."""

    says: Any = "the bot is @pigeon"
    lacks: tuple[str, ...] = ()

    async def connect(self, receive: Any) -> None:
        raise NotImplementedError

    async def disconnect(self) -> None:
        return

    async def aclose(self) -> None:
        return

    async def probe(self) -> None:
        return

    async def send_text(self, chat: str, text: str, post: SendOptions) -> str:
        return "1"

    async def send_file(self, chat: str, item: Attachment | Audio, post: SendOptions) -> str:
        return "1"

    async def whoami(self) -> str:
        if isinstance(self.says, Exception):
            raise self.says
        return str(self.says)

    async def missing_permissions(self) -> tuple[str, ...]:
        await self.whoami()
        return self.lacks


class Pigeon(ChannelPlugin[PigeonConfig]):
    client: type[PigeonClient] = PigeonClient

    def make_client(self) -> PlatformClient:
        made = self.client()
        made.limits = Limits(text=100)
        return made

    def settings_problem(self) -> str | None:
        return None if self.config.token else "the token is missing; put it into .env"


def checks(h: Harness, *, offline: bool = False) -> dict[str, Any]:
    """What the doctor's checks of the channel find."""
    found = {}
    for plugin, check in h.plugin(Pigeon).host.registered(Check):
        if plugin == "pigeon":
            run: Any = check.run
            found[check.name] = h.run(run(offline=offline))
    return found


@pytest.fixture
def pigeon_harness(harness: MakeHarness) -> Harness:
    return harness(Pigeon)


def test_doctor_names_the_bot(pigeon_harness: Harness) -> None:
    found = checks(pigeon_harness)
    assert (found["token"].ok, found["token"].detail) == (True, "the bot is @pigeon")
    assert found["permissions"].ok


def test_doctor_names_missing_permissions_with_fixes(
    pigeon_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PigeonClient, "lacks", (TOLD, "the intent is off; switch it on"))
    found = checks(pigeon_harness)["permissions"]
    assert not found.ok
    assert found.detail == "the scope chat:write is missing; the intent is off"
    assert found.fix == "add it; switch it on"


@pytest.mark.parametrize(
    ("says", "detail", "fix"),
    [
        (CannotStart("the token is unknown; copy it"), "the token is unknown", "copy it"),
        (ConnectionError("no route"), "no route", "check the network"),
        (TimeoutError(), "the platform did not answer", "check the network"),
    ],
)
def test_doctor_says_why_the_platform_does_not_answer(
    pigeon_harness: Harness, monkeypatch: pytest.MonkeyPatch, says: Exception, detail: str, fix: str
) -> None:
    monkeypatch.setattr(PigeonClient, "says", says)
    found = checks(pigeon_harness)["token"]
    assert not found.ok
    assert detail in found.detail
    assert fix in found.fix
    assert checks(pigeon_harness)["permissions"].detail.startswith("not tested")  # reported once


def test_doctor_makes_no_request_offline_or_without_token(harness: MakeHarness) -> None:
    without = harness(Pigeon, config={"token": ""})
    assert checks(without)["token"].fix == "put it into .env"
    assert checks(without)["permissions"].ok
    assert checks(harness(Pigeon), offline=True)["token"].ok
