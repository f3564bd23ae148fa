"""The session whose prompt is priced: ten turns, 25 answers, tools in nine of them.

The conversation itself, without system prompt, tools and skills, adds up to some 13,600 tokens over
the 25 requests, as the rivals' did.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Step:
    """One turn: what the person says, the calls of each step, the answer, the matching skills."""

    says: str
    calls: Sequence[Sequence[Call]]
    answer: str
    skills: Sequence[str]


def _read(path: str) -> list[Call]:
    return [("read_file", {"path": path})]


NOTE = "Deploys on Fridays."
TURNS = (
    Step(
        "What is this folder for?",
        [[("list_dir", {})], _read("README.txt")],
        "A small service that counts.",
        ["review", "release"],
    ),
    Step(
        "Which port does it use?",
        [[("grep", {"pattern": "port"})], _read("service.ini")],
        "8080.",
        ["release"],
    ),
    Step(
        "Make it 9090.",
        [[("edit_file", {"path": "service.ini", "old_string": "8080", "new_string": "9090"})]],
        "Done.",
        ["configuration", "review"],
    ),
    Step(
        "Must owners.txt change too?",
        [_read("owners.txt"), [("grep", {"pattern": "9090"})]],
        "No, it names people.",
        ["on-call"],
    ),
    Step("Who is on call?", [], "Mara.", ["on-call", "release"]),
    Step(
        "Remember: we deploy on Fridays.",
        [[("write_file", {"path": "NOTES.md", "content": NOTE})], _read("NOTES.md")],
        "Noted.",
        ["release", "writing"],
    ),
    Step(
        "What goes into changes.txt?",
        [_read("changes.txt"), [("grep", {"pattern": "port"})]],
        "One line: the port.",
        ["writing", "configuration"],
    ),
    Step(
        "Add that line to it.",
        [[("edit_file", {"path": "changes.txt", "old_string": "1.2", "new_string": "1.3: port"})]],
        "Added.",
        ["writing", "review"],
    ),
    Step(
        "Is all consistent now?",
        [[("grep", {"pattern": "8080"})], _read("service.ini")],
        "Yes.",
        ["configuration"],
    ),
    Step(
        "Sum up what we did.",
        [_read("changes.txt")],
        "Port, change log, note.",
        ["writing", "on-call"],
    ),
)
FILES = {
    "README.txt": "Counts; tells on a port.\n",
    "service.ini": "port = 8080\n",
    "owners.txt": "on call: Mara\n",
    "changes.txt": "1.2 counts faster\n1.1 counts\n",
}
SKILLS = {"release": 3600, "review": 2600, "configuration": 3000, "on-call": 2000, "writing": 6000}
"""Skills by name with their characters."""


def skill_text(name: str) -> str:
    """The text of a skill: words, the same each time."""
    words = random.Random(name)
    text = f"# {name}\n"
    while len(text) < SKILLS[name]:
        text += "".join(words.choices("abcdefghijklmnoprstu", k=words.randint(2, 9))) + " "
    return text[: SKILLS[name]]


ASIDE = {
    "title": "You name conversations.",
    "portrait": "You keep a short profile of the person",
    "review": "This is a review of the conversation above",
    "compaction": "You write the summary that takes the place",
}
"""What requests beside the conversation are for, and words that only these hold."""
LEARNT: Mapping[str, Any] = {"action": "remember", "content": "The service deploys on Fridays."}
TITLE, PORTRAIT, KEPT, SUMMARY = (
    "Port and change log of a small service",
    '{"narrative": "Looks after a small service that counts.\\nAsks and answers in a few words."}',
    "Done: when it is deployed.",
    "## Goal\nThe port is 9090.",
)


def purpose(sent: str) -> str:
    """What a request is for, by its JSON: ``main`` or one of ``ASIDE``."""
    return next((name for name, words in ASIDE.items() if words in sent), "main")


def aside(purpose: str, sent: str) -> tuple[str, Sequence[Call]]:
    """The answer to a request beside the conversation. A review keeps one fact, and says so."""
    if purpose == "review":
        return KEPT, () if LEARNT["content"] in sent else [("memory", LEARNT)]
    return {"title": TITLE, "portrait": PORTRAIT, "compaction": SUMMARY}[purpose], ()


def replies() -> list[tuple[str, Sequence[Call]]]:
    """The model's 25 answers in order: text and calls."""
    found: list[tuple[str, Sequence[Call]]] = []
    for turn in TURNS:
        found += [("", calls) for calls in turn.calls]
        found.append((turn.answer, ()))
    return found
