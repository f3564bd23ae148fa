"""What both sides are given: a question, a history, a tool."""

from __future__ import annotations

from pathlib import Path

QUESTION = "What is the sum of the numbers so far? Answer in one sentence."
MESSAGE = "This message stands for one that a person or a model wrote some time ago. " * 3
"""222 characters: a message of the history is a few lines of text."""
ITERATIONS = 20
"""Tool calls in a turn with tools, one a response."""


def bench_add(left: int, right: int) -> str:
    """Add two whole numbers."""
    return str(left + right)


def history(messages: int) -> list[tuple[str, str]]:
    """This many messages as ``(role, text)``, the person's and the model's in turn."""
    roles = ("user", "assistant")
    return [(roles[number % 2], f"{number}: {MESSAGE}") for number in range(messages)]


NOTES = ("one.md", "two.md", "three.md")
"""Files that a one-shot run reads."""


def write_notes(folder: Path) -> None:
    """Write the files, each some 4 kB."""
    for name in NOTES:
        (folder / name).write_text(f"# {name}\n\n" + f"{MESSAGE.strip()}\n" * 18, "utf-8")
