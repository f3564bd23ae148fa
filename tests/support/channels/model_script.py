"""The model's script, the same for every channel."""

from __future__ import annotations

from typing import Any

HELLO = "**Hello**, *you* & `me` <there>"
COUNTED = " ".join(f"number{n}" for n in range(200))


def _step(when: str, text: str = "", command: str = "", **more: Any) -> dict[str, Any]:
    calls = [{"name": "bash", "arguments": {"command": command}}] if command else []
    return {"when": when, "text": text, "tools": calls, "repeat": True, **more}


def remove(list_: str) -> str:
    """A command that removes what a file lists: what that is cannot be known, so it is asked."""
    return f"rm -rf $(cat ~/{list_}.txt)"


WAIT = "echo run >> ~/work.runs; while [ ! -e ~/work.go ]; do sleep 0.05; done"
"""A command that ends when a file lies there, so that nothing outlives its test."""
STEPS = [
    _step("^hello$", HELLO),
    _step("^turn on the lamp$", "The **lamp** is on."),
    *[
        _step(f"^remove {name}$", command=remove(name))
        for name in ("denied", "allowed", "grouped", "killed", "revived")
    ],
    {
        "when": "^draw a bicycle$",
        "tools": [{"name": "generate_image", "arguments": {"prompt": "a red bicycle"}}],
        "repeat": True,
    },
    _step("The person gets it with your reply", "Here it **is**."),
    _step("^think$", "I have thought.", delay=1.5),
    _step("^count$", COUNTED),
    _step("^work$", "I will work.", WAIT),
    _step("the process died while this ran", "The work was cut short."),
    _step("^Write the letter", "The letter is written."),
    _step("Denied", "Then I leave it."),
    _step(r"exit code 0", "It is removed."),
]
