"""Spoken messages, and files that come with replies."""

from __future__ import annotations

import struct
from typing import Any

from .browser import Person, new, text_of

WAV = (
    b"RIFF"
    + struct.pack("<I", 36)
    + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
)
WAV += b"data" + struct.pack("<I", 0)


def test_voice_message_is_transcribed_and_reply_can_be_read_aloud(play: Any) -> None:
    async def story(owner: Person, mia: Person) -> None:
        state = await owner.get("/state")
        assert state["voice"] == {"listen": False, "speak": False}  # no plugin offers it
        session, file = new(), new()
        path = f"/files/{file}?name=voice.wav&voice=1&duration=2.5"
        made = await mia.ask("PUT", path, 201, content=WAV)
        assert (made["kind"], made["duration"]) == ("voice", 2.5)
        async with mia.events() as events:
            await mia.say(session, "", files=[file])
            async for event in events:
                if event["type"] == "session":
                    break
        found = await mia.settled(session)
        said, answer = found["messages"]
        assert text_of(said) == "words of 2.5 s"
        assert [one["id"] for one in said["files"]] == [file]
        spoken, table = answer["files"]
        assert (spoken["kind"], spoken["duration"]) == ("voice", 2.5)
        assert (table["name"], table["caption"]) == ("table.csv", "the table")
        for person in (mia, owner):
            had = await person.client.get(f"/api/files/{spoken['id']}")
            assert (had.content, had.headers["content-type"]) == (b"OggS spoken", "audio/ogg")
        await owner.get(f"/files/{new()}", 404)

    play(story, "owner", "mia")


def test_voice_upload_that_is_not_audio_becomes_a_file(play: Any) -> None:
    async def story(owner: Person) -> None:
        made = await owner.ask("PUT", f"/files/{new()}?voice=1", 201, content=b"plain text")
        assert made["kind"] == "file"
        await owner.ask("PUT", f"/files/{new()}?voice=1&duration=x", 400, content=b"x")
        await owner.ask("PUT", "/files/not-a-uuid", 404, content=b"x")

    play(story)
