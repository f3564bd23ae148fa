"""The plugin in the core: learnt texts and replies."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, tool
from hookline_redact import Redact

MakeHarness = Callable[..., Harness]


class Notebook(Plugin):
    """Remembers through the gate."""

    @tool
    async def remember(self, text: str) -> str:
        """Remember a note."""
        return await self.host.learn(text, "notes", "note")


def learn(h: Harness, text: str) -> str:
    """The text that would be stored."""
    h.model.steps[:] = [calls("remember", text=text), "Done."]
    return h.send("go").tool_calls[0].text


def test_secret_is_removed_from_learnt_text(harness: MakeHarness) -> None:
    h = harness(Redact, Notebook)
    assert learn(h, "Bob is bob@example.com") == "Bob is [REDACTED:email]"
    assert learn(h, "The user likes tea.") == "The user likes tea."


def test_long_text_is_redacted_to_its_end(harness: MakeHarness) -> None:
    h = harness(Redact, Notebook)
    text = "The user likes tea and short answers.\n" * 1_000
    assert learn(h, f"{text}password=hunter2") == f"{text}password=[REDACTED:token]"


def test_kinds_and_region_are_configurable(harness: MakeHarness) -> None:
    config = {"redact": {"region": "gb", "kinds": ["phone"]}}
    h = harness(Redact, Notebook, config=config)
    assert learn(h, "bob@example.com, 020 7946 0958") == "bob@example.com, [REDACTED:phone]"


@pytest.mark.parametrize("region", ["USA", "1", ""])
def test_invalid_region_is_refused(harness: MakeHarness, region: str) -> None:
    h = harness(Redact, Notebook, config={"redact": {"region": region}}, strict=False)
    h.model.steps[:] = ["Hello."]
    h.send("hi")
    state, reason = h.states()["redact"]
    assert state == "failed"
    assert "two letters" in reason


def test_replies_are_unchanged_and_streamed_by_default(harness: MakeHarness) -> None:
    h = harness(Redact, model=["It is bob@example.com."])
    assert h.send("Which address?").text == "It is bob@example.com."
    assert not h.hooks["pre_reply"]
    assert not h.runtime.bus.must_buffer_reply()


def test_replies_are_redacted_with_outbound(harness: MakeHarness) -> None:
    h = harness(Redact, config={"outbound": True}, model=["It is bob@example.com."])
    assert h.send("Which address?").text == "It is [REDACTED:email]."
    assert h.runtime.bus.must_buffer_reply()
