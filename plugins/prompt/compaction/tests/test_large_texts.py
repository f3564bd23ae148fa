"""A text too large for the context is sent cut, always at the same place."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hookline.testing import calls
from hookline_compaction.large_texts import cut
from hookline_hookspecs import ArtifactKeeper, ContextTooLong, HooklineError, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hypothesis import given
from hypothesis import strategies as st

from .conftest import Talk, texts

SHARE = {"message_share": 0.01, "message_share_tight": 0.005}
"""5,120 and 2,560 characters of the window of 128,000 tokens."""
MARKER = re.compile(r"\n\[… (\d+) characters left out; (.*)\]\n")


@given(text=st.text(min_size=1, max_size=300), data=st.data())
def test_shown_and_omitted_parts_add_up_to_the_text(text: str, data: st.DataObject) -> None:
    room = data.draw(st.integers(0, len(text) - 1))
    shown = cut(text, room, "gone")
    marker = f"\n[… {len(text) - room} characters left out; gone]\n"
    assert any(
        text.startswith(shown[:at]) and text.endswith(shown[at + len(marker) :])
        for at in range(len(shown))
        if shown.startswith(marker, at) and len(shown) == room + len(marker)
    )


def test_large_message_is_sent_as_head_and_tail_and_stored_whole(talk: Talk) -> None:
    h = talk.open(**SHARE)
    said = "Look at this: " + "a" * 20_000 + " and tell me why."
    talk.say(said)
    sent = texts(talk.sent)[0]
    assert sent.startswith("Look at this: aaa")
    assert sent.endswith(" and tell me why.")
    found = MARKER.search(sent)
    assert found
    assert int(found[1]) == len(said) - 5_120
    assert "fetch_artifact" not in sent
    stored = h.run(h.runtime.plugins.host("hands").messages("test"))
    assert stored[0].text == said


def test_cut_is_the_same_in_each_request_and_process(talk: Talk) -> None:
    talk.open(**SHARE)
    talk.say("a" * 20_000, [calls("look", size=1)])
    sent = texts(talk.sent)[0]
    talk.open(**SHARE)
    talk.say("on")
    assert texts(talk.sent)[0] == sent
    assert talk.asked == [], "cut, it is small enough"


def test_large_tool_result_is_cut(talk: Talk) -> None:
    talk.open(**SHARE)
    talk.say("look", [calls("look", size=50_000)])
    assert MARKER.search(texts(talk.sent)[-1])
    assert len(texts(talk.sent)[-1]) < 5_300


def test_pinned_message_is_not_cut(talk: Talk) -> None:
    talk.open(**SHARE)
    talk.say("PIN: " + "a" * 8_000)
    assert texts(talk.sent) == ["PIN: " + "a" * 8_000]


def test_refusal_by_the_provider_tightens_the_cut_for_the_session(talk: Talk) -> None:
    talk.open(**SHARE)
    outcome = talk.say("a" * 4_000, ContextTooLong("too long"), "now it fits")
    assert outcome.text == "now it fits"
    assert MARKER.search(texts(talk.sent)[0])
    sent = texts(talk.sent)[0]
    talk.open(**SHARE)
    talk.say("on")
    assert texts(talk.sent)[0] == sent


class Shelf(Plugin[NoConfig]):
    """Offers to keep texts, and forgets nothing; refuses what holds ``REFUSE``."""

    @hookimpl
    def setup(self, host: Any) -> None:
        self.kept: dict[str, str] = {}
        host.services.provide(ArtifactKeeper, self)

    async def keep(self, ctx: Any, text: str) -> str:
        if "REFUSE" in text:
            raise HooklineError("the disk is full")
        return self.kept.setdefault(text, f"a{len(self.kept) + 1}")


@pytest.mark.parametrize(
    ("letter", "hint"), [("a", 'fetch_artifact(id="a1")'), ("REFUSE", "ask for the part you need")]
)
def test_cut_marker_names_the_artifact(talk: Talk, letter: str, hint: str) -> None:
    h = talk.open(Shelf, **SHARE)
    talk.say(letter * 10_000, [calls("look", size=1)])
    found = MARKER.search(texts(talk.sent)[0])
    assert found
    assert hint in found[2]
    assert list(h.plugin(Shelf).kept) == (["a" * 10_000] if letter == "a" else [])
