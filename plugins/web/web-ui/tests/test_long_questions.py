"""A call that is too long to be shown at once is accepted only after all of it was opened."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from .browser import PATIENCE, Gateway, new

COMMAND = "rm -rf /tmp/never-there\n" + "echo 0123456789\n" * 300 + "echo hidden\n" * 2
SCRIPT = [
    {
        "when": "remove it",
        "tools": [{"name": "bash", "arguments": {"command": COMMAND * 2}}],
        "repeat": True,
    },
    {"when": ".", "text": "answered", "repeat": True},
]


def run(story: Any) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE))


@pytest.mark.long
def test_long_call_is_accepted_with_the_digest_of_its_whole_text(own_gateway: Gateway) -> None:
    own_gateway.configure(SCRIPT)
    own_gateway.start()

    async def story() -> None:
        owner, mia = await own_gateway.person("owner"), await own_gateway.person("mia")
        session = new()
        await owner.say(session, "remove it")
        found = await owner.until(session, lambda one: one["session"]["state"] == "asking")
        (question,) = found["questions"]
        assert len(question["preview"]) < 4_000
        assert question["abridged"] == len(COMMAND * 2)
        assert question["digest"] == ""
        path, detail = f"/sessions/{session}/answer", f"/sessions/{session}/questions/"
        answer = {"question": question["id"], "choice": "Allow once"}
        refused = await owner.ask("POST", path, 409, json=answer)
        assert refused["error"]["code"] == "not_shown"
        await mia.ask("GET", detail + question["id"], 404)
        whole = await owner.get(detail + question["id"])
        assert whole["preview"] == COMMAND * 2
        await owner.ask("POST", path, 202, json=answer | {"shown": whole["digest"]})
        await owner.settled(session)
        for one in (owner, mia):
            await one.close()

    run(story())
