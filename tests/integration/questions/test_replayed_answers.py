"""An answer to one question, sent again while the same call is asked about anew, has no effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import Questions

from .test_chat_answers import LAUNCH, Guard, People, Work, parked, press, texts, until

Make = Callable[..., Any]


@pytest.mark.parametrize("how", ["the same press", "a new press", "a reply", "the service"])
async def test_replayed_answer_does_not_answer_the_next_question(harness: Make, how: str) -> None:
    h = harness(People, Work, Guard, model=[*LAUNCH, *LAUNCH])
    first = await parked(h)
    await press(h, first.id, "Allow once", message_id="p")
    await until(lambda: "done" in texts(h))
    assert h.plugin(Work).ran == ["moon"]
    await h.channel.say("go", message_id="again")
    questions = h.runtime.engine.services[Questions]

    async def open_now() -> Any:
        return await questions.open()

    shown = {one.question for one in h.channel.sent if one.question}
    await until(lambda: {one.question for one in h.channel.sent if one.question} - shown)
    (second,) = await open_now()
    assert second.id != first.id
    if how == "the same press":
        await press(h, first.id, "Allow once", message_id="p")
    elif how == "a new press":
        await press(h, first.id, "Allow once", message_id="q")
    elif how == "a reply":
        await h.channel.say("Allow once", kind="press", question=first.id, user="boss")
    else:
        with pytest.raises(Exception, match="already answered"):
            await questions.answer(first.id, "1", "fake", "boss")
    await h.runtime.finish_background(2)
    assert [one.id for one in await open_now()] == [second.id]
    assert h.plugin(Work).ran == ["moon"]
    await press(h, second.id, "Deny", message_id="end")
    await until(lambda: texts(h).count("done") == 2)
    assert h.plugin(Work).ran == ["moon"]
