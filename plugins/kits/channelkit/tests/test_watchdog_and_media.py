"""Starting, stopping, typing, dead connections, and files that come in."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline_channelkit import CannotStart, FileTooLarge, MediaStore, ReconnectPolicy
from hookline_channelkit.media import safe_name
from hookline_hookspecs import Attachment, Audio
from hookline_hookspecs.file_origins import received_file_origins
from hypothesis import given
from hypothesis import strategies as st

from .conftest import PATIENCE, ChannelProcess, Platform, Speaker

QUICK = ReconnectPolicy(
    idle_timeout=0.05, probe_timeout=5, connect_timeout=5, min_backoff=0.01, max_backoff=0.05
)


async def until(ready: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not ready():
            await asyncio.sleep(0.005)


async def test_watchdog_reconnects_a_silent_connection(
    start_channel: Any, platform: Platform
) -> None:
    one = await start_channel(platform, {"": "answer"}, reconnect=QUICK)
    await until(lambda: one.client.log.count("probe") > 1)
    assert one.client.log.count("connect") == 1
    one.client.probe_fault = ConnectionError("no route")
    await until(lambda: one.client.log.count("connect") > 1)
    one.client.probe_fault = None
    await until(lambda: one.client.receive is not None)
    await one.say("hi")
    await one.idle()
    assert platform.texts("c") == ["answer"]


async def test_watchdog_reconnects_until_it_works(start_channel: Any) -> None:
    one = await start_channel(
        Platform(),
        {},
        reconnect=ReconnectPolicy(idle_timeout=3600, min_backoff=0.01, max_backoff=0.02),
    )
    one.client.connect_fault = CannotStart("409: another poller")
    one.client.receive.disconnected("409")
    await until(lambda: one.client.log.count("connect") > 3)
    assert one.client.receive is None
    one.client.connect_fault = None
    await until(lambda: one.client.receive is not None)
    count = one.client.log.count("connect")
    one.client.receive.disconnected("again")
    await until(lambda: one.client.log.count("connect") > count)


async def test_channel_can_start_after_a_failed_start(tmp_path: Path, platform: Platform) -> None:
    one = ChannelProcess(tmp_path / "home", platform, Speaker({}))
    await one.harness.aopen()
    one.client.connect_fault = CannotStart("the token is wrong; set telegram.token")
    with pytest.raises(CannotStart, match="token is wrong"):
        await one.kit.start()
    one.client.connect_fault = None
    await one.kit.start()
    waiting = asyncio.ensure_future(one.kit.wait())
    await one.kit.stop()
    await one.kit.stop()
    await asyncio.wait_for(waiting, PATIENCE)
    client = one.client
    await one.close()
    assert client.log == ["connect", "connect", "disconnect", "aclose"]


async def test_typing_indicator_shows_during_a_turn(start_channel: Any, platform: Platform) -> None:
    platform.fault = lambda name, *_: "away" if name == "typing" else None
    platform.limits = replace(platform.limits, typing_every=0.01)
    one = await start_channel(platform, {"": "one two three"}, stream=False)
    one.model.held.clear()
    await one.say("hi")
    await until(lambda: len(platform.typed) > 2)
    one.model.held.set()
    await one.idle()
    count = len(platform.typed)
    assert platform.texts("c") == ["one two three"]
    await asyncio.sleep(0.05)
    assert len(platform.typed) == count


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_media_store_saves_private_files(start_channel: Any, platform: Platform) -> None:
    one = await start_channel(platform, {})
    media = MediaStore(one.kit.host, "pigeon", max_bytes=1000)
    found = await media.save_attachment(chunks(b"%PDF-1.7", b"x" * 100), "../../evil\n.txt")
    assert found.path.parent == one.kit.host.home / "media" / "pigeon"
    assert found == Attachment(
        found.path, "application/pdf", "evil_.txt", 108, origins=received_file_origins("evil_.txt")
    )
    assert found.path.read_bytes() == b"%PDF-1.7" + b"x" * 100
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(found.path.parent.stat().st_mode) == 0o700
    voice = await media.save_audio(b"OggS" + b"\0" * 24 + b"OpusHead", 2.5, is_recording=True)
    assert voice == Audio(voice.path, "audio/ogg", 2.5, origins=())
    sound = await media.save_audio(b"OggS" + b"\0" * 24 + b"OpusHead", 2.5)
    assert sound.origins[0].kind == "outside"
    assert voice.path.suffix == ".ogg"
    assert isinstance(await media.save_audio(b"no sound"), Attachment)
    before = sorted(media.folder.iterdir())
    with pytest.raises(FileTooLarge, match=r"big\.bin is larger than the limit of 1,000 bytes"):
        await media.save_attachment(chunks(b"x" * 600, b"x" * 600), "big.bin")
    assert sorted(media.folder.iterdir()) == before
    assert await media.prune(found.path.stat().st_mtime - 10) == 0
    assert await media.prune(found.path.stat().st_mtime + 3600) == 4


@given(st.text(max_size=400))
def test_safe_name_has_no_path(name: str) -> None:
    safe = safe_name(name)
    assert len(safe.encode()) <= 200
    assert not set(safe) & set("/\\\0\n\r\t")
    assert not safe.startswith((".", " "))
