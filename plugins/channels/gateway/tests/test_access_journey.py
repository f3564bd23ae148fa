"""Access from a fresh home on: a real gateway, people on the webhook, a real terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import Gateways, Platform, end

DANGER = "sudo true"
SCRIPT = {
    "steps": [
        {
            "when": "^launch",
            "tools": [{"name": "bash", "arguments": {"command": DANGER}}],
            "repeat": True,
        },
        {"when": "Denied|exit code|Error", "text": "finished", "repeat": True},
        {"when": ".", "text": "answered", "repeat": True},
    ]
}
STRANGER = "I do not know you yet."
NOT_YOURS = "Only an admin may answer this. Nothing was changed."
MAY_NOT = "You may not answer this question. Nothing was changed."


def last_word_in(lines: list[str], words: str) -> str:
    return next(line for line in lines if words in line).split()[-1]


def code_of(answer: str) -> str:
    """The pairing code that a stranger was given."""
    assert answer.startswith(STRANGER)
    return answer.splitlines()[0].split()[-1]


@pytest.mark.slow
def test_first_claim_pairing_and_group_approval_work_end_to_end(
    gateways: Gateways, platform: Platform
) -> None:
    gateways.configure(platform, json.dumps(SCRIPT), access={}, approvals=True)
    process, lines = gateways.start("there is no admin yet")
    claim = last_word_in(lines, "there is no admin yet")
    ask = Conversation(gateways, platform)

    # Deny by default; a claim code works once, for the first who sends it.
    assert ask("eve", "hello").startswith(STRANGER)
    assert ask("boss", claim).startswith("You are the first admin now.")
    gateways.say("again", claim, "eve")
    assert ask("boss", "/whoami") == "webhook:boss in chat boss"
    assert ask("boss", "hello") == "answered"

    # Pairing: the admin gets a notice and decides with the code; no one else can.
    code = code_of(ask("ann", "let me in"))
    notice = platform.one_that(lambda body: "webhook:ann wrote in chat ann" in body["text"])
    assert notice["chat"] == "boss"
    assert code in notice["text"]
    assert ask("boss", f"/pair {code}") == "webhook:ann may write now."
    assert ask("ann", "/whoami") == "webhook:ann in chat ann"
    assert ask("ann", f"/pair {code}") == NOT_YOURS

    # An approval that arises in a group goes to the admin, and only the admin answers it.
    gateways.say("danger", "launch", "ann", "group")
    question = platform.one_that(lambda body: "For webhook:ann" in body["text"])
    assert question["chat"] == "boss"
    assert DANGER in question["text"]
    number = question["text"].split()[-2]
    assert ask("ann", f"/questions answer {number} 1") == MAY_NOT
    assert "danger" not in platform.texts
    assert ask("boss", f"/questions answer {number} 1") == "Answered: Allow once."
    assert platform.answer_to("danger") == "finished"

    # What the terminal decides counts at once.
    assert gateways.run("pairing", "revoke", "webhook:ann")[0] == 0
    assert ask("ann", "hello").startswith(STRANGER)
    assert "eve" not in {body["chat"] for body in platform.all if "answered" in body["text"]}
    assert end(process)[0] == 0


class Conversation:
    """Sends a message and waits for its reply."""

    def __init__(self, gateways: Gateways, platform: Platform) -> None:
        self._gateways, self._platform, self._number = gateways, platform, 0

    def __call__(self, user: str, text: str) -> str:
        self._number += 1
        id_ = f"{user}-{self._number}"
        assert self._gateways.say(id_, text, user) == 202
        return self._platform.answer_to(id_)


@pytest.mark.slow
def test_failed_claims_are_limited_and_logged(gateways: Gateways, platform: Platform) -> None:
    gateways.configure(platform, access={"open_codes": 2})
    process, lines = gateways.start("there is no admin yet")
    claim = last_word_in(lines, "there is no admin yet")
    ask = Conversation(gateways, platform)
    assert ask("eve", "BBBB-BBBB-BBBB").startswith(STRANGER)
    for number in range(5):  # in silence; then nothing eve sends is looked at
        gateways.say(f"guess-{number}", f"CCCC-CCCC-CCC{number + 2}", "eve")
    gateways.say("right", claim, "eve")
    assert ask("bob", "hello").startswith(STRANGER)
    gateways.say("carl", "hello", "carl")  # a third code is not given
    assert ask("boss", claim).startswith("You are the first admin now.")
    log: list[dict[str, Any]] = json.loads(gateways.run("pairing", "log", "--json")[1])
    entries = [(one["person"], one["what"]) for one in reversed(log)]
    assert entries.count(("webhook:eve", "sent a wrong claim code")) == 5
    assert ("webhook:boss", "became the first admin") in entries
    assert ("webhook:bob", "asked to be let in") in entries
    assert not [one for one in entries if one[0] == "webhook:carl"]
    assert end(process)[0] == 0
    assert not {"right", "guess-0"} & set(platform.texts)


@pytest.mark.slow
def test_channel_messages_cannot_change_the_installation(
    gateways: Gateways, platform: Platform
) -> None:
    gateways.configure(platform, access={"admins": ["webhook:boss"]})
    process, _ = gateways.start()
    before = (gateways.home / "config.yaml").read_bytes()
    ask = Conversation(gateways, platform)
    for text in ("/plugins install hookline-multimedia", "/plugins disable access"):
        ask("boss", text)
    for text in ("/config set model a/b", "/pairing claim", "/gateway", "/doctor"):
        assert ask("boss", text).startswith("Unknown command")
    assert (gateways.home / "config.yaml").read_bytes() == before
    assert ask("boss", "hello") == "answered"
    assert ask("eve", "/plugins").startswith(STRANGER)
    assert end(process)[0] == 0


@pytest.mark.slow
def test_invalid_access_lists_are_reported_and_admit_no_one(
    gateways: Gateways, platform: Platform
) -> None:
    lists = {"admins": ["webhook:*", "eve", 7], "allow": "webhook:*", "admin": ["webhook:eve"]}
    gateways.configure(platform, access=lists)
    process, lines = gateways.start("there is no admin yet")
    text = "".join(lines)
    assert "Ignoring access.allow" in text
    assert "access.admins.2: " in text
    assert "access.admin " in text or "access.admin:" in text, text
    assert Conversation(gateways, platform)("eve", "hello").startswith(STRANGER)
    assert end(process)[0] == 0
