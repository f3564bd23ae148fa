"""A recording is sent and a reply is read aloud, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..browser import Gateway
from ..test_people import PICTURE
from .conftest import SCRIPT, Window, _log_in

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gateway_with_speech(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with a service that hears and speaks."""
    made = Gateway(tmp_path_factory.mktemp("gateway_with_speech"))
    made.configure(SCRIPT, voice=True)
    made.start(SPEAKS="1")
    yield made
    made.close()


@pytest.fixture
def one(chromium: Any, gateway_with_speech: Gateway) -> Iterator[Window]:
    """A window of the owner."""
    context = chromium.new_context()
    _log_in(context, gateway_with_speech, "owner")
    made = Window(context.new_page(), gateway_with_speech.url).open()
    yield made
    context.close()
    assert made.faults == []


RECORDED = """
window.recorded = 0;
const start = MediaRecorder.prototype.start;
MediaRecorder.prototype.start = function () {
  this.addEventListener("dataavailable", (event) => (window.recorded += event.data.size));
  return start.call(this, 100);
};
"""
"""Counts the bytes that were recorded: on a busy machine the first come late."""


def test_recording_is_transcribed_and_reply_is_read_aloud(one: Window, tmp_path: Path) -> None:
    one.page.add_init_script(RECORDED)
    one.open()
    one.button("Record").press("Enter")
    one.button("Stop recording").wait_for()
    one.until("() => window.recorded > 1000")
    one.button("Stop recording").press("Enter")
    one.page.get_by_text("voice.webm").wait_for()
    one.button("Send").click()
    one.settled()
    said = one.log.locator('article[data-role="user"]')
    assert "words that were heard" in said.inner_text()
    assert said.locator("audio").count() == 1

    answer = one.log.locator('article[data-role="assistant"]')
    assert answer.locator("audio").count() == 0
    for _ in range(2):  # the second time it is there already
        one.button("Listen").click()
        one.until(
            "() => document.querySelectorAll('[data-role=assistant] audio')[0]?.duration === 1"
        )
    assert answer.locator("audio").count() == 1
    one.page.reload()
    one.settled()
    assert answer.locator("audio").count() == 1

    picture = tmp_path / "dot.png"
    picture.write_bytes(PICTURE)
    one.page.set_input_files("input[type=file]", picture)
    one.say("what is this?")
    one.settled(2)
    one.until("() => document.querySelector('img.picture')?.naturalWidth === 1")
