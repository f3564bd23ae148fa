"""Memory belongs to one chat: nothing leaks into another."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import FakeChannel, Harness, calls
from hookline_hookspecs import Access, Host, Inbound, ModelRequest, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_memory import Memory

CHATS = 1_000
TOGETHER = 20
"""Chats that write at the same time: a hook's time runs while it waits for the others."""
LOOKED_AT = 25
"""Chats in which a whole turn is looked at; the others are asked by the command."""
CANARY = re.compile(r"canary-\d+-\w+")


class Door(Plugin[NoConfig]):
    """A fake of the plugin ``access``."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer who is an operator."""
        host.services.provide(Access, self)

    def is_operator(self, inbound: Inbound) -> bool:
        """Whether an admin writes in a private chat."""
        return inbound.user_id == "admin" and inbound.chat_id == "admin"


def obedient(request: ModelRequest) -> Any:
    """Does what the newest message says: `note X`, `fact X`, or both; else answers."""
    words = request.messages[-1].text.split("\n")[0]
    made = []
    for verb, action in (("note", "add"), ("fact", "remember")):
        if match := re.search(rf"{verb} ([^;]+)", words):
            made.append(calls("memory", action=action, content=match[1]))
    return made or "done"


class ManyChats:
    """Many chats on one channel."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.heard = 0

    def say(self, *messages: tuple[str, str], user: str = "") -> dict[str, str]:
        """Have messages said, all at once, and wait for the replies: by chat."""
        self.harness.model.steps += [obedient] * (2 * len(messages))
        return self.harness.run(self._say(self.harness.channel, messages, user))

    async def _say(self, channel: FakeChannel, messages: Any, user: str) -> dict[str, str]:
        for chat, text in messages:
            await channel.say(text, chat=chat, user=user or chat)
        self.heard += len(messages)
        replies = await channel.replies(self.heard, seconds=120)
        await self.harness.runtime.finish_background(60)
        return {reply.session.chat_id: reply.text for reply in replies[-len(messages) :]}

    def sent(self, chat: str, text: str) -> str:
        """All that a model is sent for a message in a new session of a chat."""
        self.say((chat, "/new"))
        self.say((chat, text))
        request = self.harness.model.last
        return request.system + "".join(m.text + m.context for m in request.messages)


@pytest.fixture
def many_chats(harness: Callable[..., Harness]) -> ManyChats:
    """Many chats, with admins."""
    return ManyChats(harness(Door, Memory, config={"memory": {}, "door": {}}))


@pytest.mark.slow
def test_memory_of_a_thousand_chats_never_leaks_to_another(many_chats: ManyChats) -> None:
    chats = [f"chat {number}" for number in range(CHATS)]
    canaries = {
        chat: (f"canary-{number}-note", f"canary-{number}-fact harbour lighthouse")
        for number, chat in enumerate(chats)
    }
    for start in range(0, CHATS, TOGETHER):
        some = chats[start : start + TOGETHER]
        many_chats.say(*[(c, f"note {canaries[c][0]}; fact {canaries[c][1]}") for c in some])
    for start in range(0, CHATS, TOGETHER):
        shown = many_chats.say(*[(chat, "/memory") for chat in chats[start : start + TOGETHER]])
        for chat, text in shown.items():
            number = chat.split()[1]
            assert set(CANARY.findall(text)) == {f"canary-{number}-note", f"canary-{number}-fact"}
    for chat in chats[:: CHATS // LOOKED_AT]:
        number = chat.split()[1]
        sent = many_chats.sent(chat, "what of the harbour lighthouse?")
        assert set(CANARY.findall(sent)) == {f"canary-{number}-note", f"canary-{number}-fact"}
    sent = many_chats.sent("a chat that knows nothing", "what of the harbour lighthouse?")
    assert not CANARY.findall(sent)
    assert not (many_chats.harness.home / "memories").exists()


def test_global_notes_are_written_by_terminal_and_admin_only(many_chats: ManyChats) -> None:
    home = many_chats.harness.home
    everywhere, own = home / "memories/MEMORY.md", home / "chats/fake/carol/MEMORY.md"
    many_chats.say(("carol", "note tea"))
    assert not everywhere.exists()
    assert own.read_text("utf-8") == "tea\n"
    many_chats.say(("admin", "note coffee"), user="admin")
    assert everywhere.read_text("utf-8") == "coffee\n"
    assert not (home / "chats/fake/admin/MEMORY.md").exists()
    many_chats.say(("group", "note cocoa"), user="admin")
    assert everywhere.read_text("utf-8") == "coffee\n"
    assert (home / "chats/fake/group/MEMORY.md").read_text("utf-8") == "cocoa\n"
    many_chats.harness.model.steps += [[calls("memory", action="add", content="water")], "done"]
    many_chats.harness.send("go")
    assert everywhere.read_text("utf-8") == "coffee\n§\nwater\n"
    assert not (home / "chats/terminal").exists()


def test_group_sees_only_global_notes_and_its_own(many_chats: ManyChats) -> None:
    many_chats.say(("carol", "note tea; fact the mooring costs 5 a day"))
    many_chats.say(("admin", "note coffee"), user="admin")
    many_chats.say(("group", "note cocoa"))
    sent = many_chats.sent("group", "what does the mooring cost a day?")
    assert "Notes [0 % of 2,200 characters]\ncoffee" in sent
    assert "Notes of this chat [0 % of 2,200 characters]\ncocoa" in sent
    assert "tea" not in sent.split()
    assert "recalled-context" not in sent


def test_global_notes_cannot_be_listed_or_changed_by_others(many_chats: ManyChats) -> None:
    many_chats.say(("admin", "note coffee"), user="admin")
    assert "coffee" in many_chats.say(("admin", "/memory"), user="admin")["admin"]
    assert "coffee" not in many_chats.say(("carol", "/memory"))["carol"]
    assert "No fact or note contains" in many_chats.say(("carol", "/memory forget coffee"))["carol"]
    remove = calls("memory", action="remove", old_text="coffee")
    many_chats.harness.model.steps += [lambda request: [remove]]
    many_chats.say(("carol", "please"))
    assert (many_chats.harness.home / "memories/MEMORY.md").read_text("utf-8") == "coffee\n"


@pytest.mark.long
@pytest.mark.parametrize("chat", ["../../escape", "..", ".", "a/b", "-1001", "ünï 🙂", "%2E"])
def test_chat_with_any_name_stays_in_its_folder(
    many_chats: ManyChats, chat: str, tmp_path: Path
) -> None:
    many_chats.say((chat, "note tea"))
    assert "tea" in many_chats.say((chat, "/memory"))[chat]
    (file,) = many_chats.harness.home.glob("chats/*/*/MEMORY.md")
    assert file.read_text("utf-8") == "tea\n"
    assert "Notes of this chat" in many_chats.sent(chat, "hello")


def test_memory_forget_command_removes_facts_and_notes(many_chats: ManyChats) -> None:
    many_chats.say(("carol", "note tea leaves; fact the mooring costs 5 a day"))
    assert "Forgotten" in many_chats.say(("carol", "/memory forget #1"))["carol"]
    assert "Removed" in many_chats.say(("carol", "/memory forget TEA"))["carol"]
    assert "/memory forget" in many_chats.say(("carol", "/memory nonsense"))["carol"]
    shown = many_chats.say(("carol", "/memory"))["carol"]
    assert "Facts of this chat: 0" in shown
    assert "tea" not in shown
    assert "No fact or note contains" in many_chats.say(("carol", "/memory forget #1"))["carol"]
