"""``/user``, the versions and file of the profile, and access."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import HooklineError
from hypothesis import given
from hypothesis import strategies as st


def test_user_command_shows_the_profile(person: Any) -> None:
    assert "Nothing is known about you" in person.command("/user")
    person.learn("Ana is a nurse.")
    assert person.command("/user").split("\n") == [
        "Known about you in this chat · 1 % of 1,500 characters",
        "Ana is a nurse.",
    ]
    assert "/user pin TEXT" in person.command("/user nonsense")


def test_clear_deletes_everything_and_can_be_undone(person: Any) -> None:
    person.command("/user pin call me Captain")
    person.learn("Ana is a nurse.")
    assert "Cleared" in person.command("/user clear")
    assert person.text == ""
    assert "Nothing was known" in person.command("/user clear")
    assert "Ana" not in person.prompt()
    history = person.command("/user history")
    assert "3. " in history
    assert "(empty)" in history
    assert person.command("/user restore 2") == "Restored version 2."
    assert person.text == "- (pinned) call me Captain\nAna is a nurse."


def test_pins_are_limited_deduplicated_redacted_and_removable(
    make_person: Callable[..., Any],
) -> None:
    person = make_person(max_chars=200)
    person.command("/user pin a SECRET name")
    person.command("/user pin a SECRET name")
    assert person.text == "- (pinned) a [REDACTED:token] name"
    assert "it gives orders" in person.command("/user pin EVIL")
    assert "pinned lines may have 100 characters" in person.command(f"/user pin {'x' * 80}")
    assert "/user pin TEXT" in person.command("/user pin")
    person.command("/user pin b")
    assert "2 pinned lines contain that text" in person.command("/user unpin pinned")
    assert "0 pinned lines" in person.command("/user unpin zzz")
    assert person.command("/user unpin B") == "Unpinned: b"
    assert person.text == "- (pinned) a [REDACTED:token] name"


@pytest.mark.slow
def test_twenty_previous_versions_are_kept(person: Any) -> None:
    for number in range(1, 25):
        person.learn(f"Version {number}.")
    lines = person.command("/user history").split("\n")[:-1]
    assert [line.split(".")[0] for line in lines] == [str(n) for n in range(24, 3, -1)]
    assert "no version 3" in person.command("/user restore 3")
    person.command("/user restore 4")
    assert person.text == "Version 4."
    assert "/user restore N" in person.command("/user restore x")


def test_edit_by_hand_is_a_version(person: Any) -> None:
    person.learn("Ana is a nurse.")
    person.write("Written by hand.")
    person.command("/user clear")
    history = person.command("/user history")
    assert "hand · Written by hand." in history
    person.command("/user restore 2")
    assert person.text == "Written by hand."
    person.learn("Ana.")  # and it is still known as a person's own
    assert person.text == "Written by hand.\nAna."


def test_change_is_listed_traced_and_undone(person: Any) -> None:
    run = person.harness.run
    person.learn("Ana is a nurse.")
    person.command("/user pin Captain")
    source = person.learned()
    (row,) = run(source.list())
    assert (row["kind"], row["chat"], row["session"]) == ("user-model", "terminal:default", "test")
    log = run(source.log(10))
    assert [entry["number"] for entry in log] == ["user-model:2", "user-model:1"]
    assert log[1]["turn"] == 1
    assert log[0]["changes"][0]["before"] == "Ana is a nurse."
    with pytest.raises(HooklineError, match="was changed since version 1"):
        run(source.undo(1))
    run(source.undo(2))
    assert person.text == "Ana is a nurse."
    run(source.undo(3))
    assert person.text == "- (pinned) Captain\nAna is a nurse."
    person.write("by hand")
    with pytest.raises(HooklineError, match="was changed since"):
        run(source.undo(4))
    with pytest.raises(HooklineError, match="no version 99"):
        run(source.undo(99))
    (row,) = run(source.list())
    assert (row["text"], row["at"]) == ("by hand", None)


def test_first_version_is_undone_to_nothing(person: Any) -> None:
    person.learn("Ana is a nurse.")
    person.harness.run(person.learned().undo(1))
    assert person.text == ""


@pytest.mark.parametrize(
    ("data", "sentence"),
    [(b"caf\xe9\n", "is not UTF-8 (byte 4)"), (b"a" * 1_000_001, "has more than 1,000,000 bytes")],
)
def test_unreadable_file_is_reported_and_left_alone(
    person: Any, data: bytes, sentence: str
) -> None:
    person.write(data)
    assert "of 1,500 characters]" not in person.prompt()
    assert any(sentence in notice.text for notice in person.harness.notices)
    for command in ("/user", "/user pin x", "/user clear"):
        assert sentence in person.command(command)
    person.say("hi")
    assert person.curate() == []
    assert person.file.read_bytes() == data


def test_full_disk_leaves_the_file_whole(person: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    person.learn("Ana is a nurse.")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert "No space left on device" in person.command("/user pin x")
    person.learn("Something else.")
    assert person.text == "Ana is a nurse."
    assert [path.name for path in person.file.parent.iterdir()] == ["USER.md"]


def test_profile_file_is_private(person: Any) -> None:
    person.learn("Ana.")
    assert person.file.stat().st_mode & 0o777 == 0o600


def test_concurrent_changes_are_both_made(person: Any) -> None:
    person.say("hello")

    async def both() -> None:
        await asyncio.gather(
            *(person.harness.asend(f"/user pin {word}", session=word) for word in ("one", "two"))
        )

    person.harness.run(both())
    assert set(person.text.split("\n")) == {"- (pinned) one", "- (pinned) two"}


def test_each_chat_has_its_own_profile(person: Any) -> None:
    channel = person.harness.channel
    answers = person.harness.run(_talk(channel))
    assert "Captain" in answers["carol"]
    assert "Captain" not in answers["dave"]
    assert "Known about you" not in answers["../../x"]
    assert (person.home / "chats/fake/carol/USER.md").exists()
    assert (person.home / "chats/fake/..%2F..%2Fx/USER.md").exists()


async def _talk(channel: Any) -> dict[str, str]:
    await channel.say("/user pin Captain", chat="carol")
    await channel.say("/user pin Cook", chat="../../x")
    await channel.replies(2, seconds=60)
    for chat in ("carol", "dave"):
        await channel.say("/user", chat=chat)
    replies = await channel.replies(4, seconds=60)
    return {reply.session.chat_id: reply.text for reply in replies}


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=15), max_size=6)


@given(LINES, LINES, LINES)
def test_curation_keeps_every_line_of_a_person(
    pinned: list[str], by_hand: list[str], told: list[str]
) -> None:
    from hookline_user_model.profile import Profile, join_lines, lines, pin

    pins = [pin(text) for text in pinned if text.split()]
    text = join_lines([*lines("\n".join(pins)), *lines("\n".join(by_hand))])
    profile = Profile.of(text, lines("\n".join(by_hand)))
    again = profile.with_narrative("\n".join(told))
    found = lines(again)
    for line in lines(text):
        assert line in found
    kept = set(profile.kept)
    assert [line for line in found if line not in kept] == profile.narrative_lines("\n".join(told))
    assert Profile.of(again, lines("\n".join(by_hand))).pinned == profile.pinned
