"""Tries the chosen model with a request as `hookline run` sends it, and offers to mend it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hookline_markdown import literal

from . import dialogue
from .choices import Choice, ask_address, ask_key, ask_model, ask_provider
from .command import hookline, trial_home
from .present import Present
from .servers import Offer

SECONDS = 90
"""How long the test request may take; a model on this machine may have to be loaded first."""

_OVERLAID = re.compile(r"HOOKLINE_(MODEL|STORE|PLUGINS__.*)$")
"""Variables that would change what is tried."""


class Left(Exception):
    """The person wants to leave."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the request: the answer, or the kind of the failure and its sentence."""

    answer: str = ""
    kind: str = ""
    text: str = ""


def ask_until_it_answers(offers: list[Offer], present: Present) -> Choice:
    """Ask for a model and try it, again until it answers or the person is content.

    Raises:
        EOFError: the end of input.
        Left: the person leaves.
    """
    choice = ask_provider(offers, present)
    while choice.can_answer(present):
        dialogue.tell(f"Sending one test request to {literal(choice.name)} …")
        outcome = tried(choice, present)
        if not outcome.kind:
            dialogue.tell(f"It answered: {literal(outcome.answer)}")
            return choice
        dialogue.explain(literal(_told(choice, outcome)))
        for hint in _hints(choice, outcome):
            dialogue.explain(hint)
        mended = _mend(choice, outcome, offers, present)
        if mended is None:
            return choice
        choice = mended
    return choice


def tried(choice: Choice, present: Present) -> Outcome:
    """Send one request, in a home that holds this provider alone."""
    section = present.section("providers", choice.offer.name) | (choice.section or {})
    config: dict[str, Any] = {"model": choice.name}
    if section:
        config["providers"] = {choice.offer.name: section}
    if isinstance(network := present.values.get("network"), dict):
        config["network"] = network
    env = {name: value for name, value in present.env.items() if not _OVERLAID.match(name)}
    words = ("run", "--json", "--no-input", "--no-wait", "Say: ready")
    with trial_home(json.dumps(config)) as home:
        try:
            done = hookline(home, *words, seconds=SECONDS, env=env | choice.variables)
        except subprocess.TimeoutExpired:
            return Outcome(kind="network", text=f"There was no answer within {SECONDS} s.")
    return _read(done)


def _read(done: subprocess.CompletedProcess[str]) -> Outcome:
    events = []
    for line in done.stdout.split("\n"):
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    by_type = {event.get("type"): event for event in events if isinstance(event, dict)}
    said = str(by_type.get("result", {}).get("text", "")).strip()
    if done.returncode == 0:
        return Outcome(answer=said)
    error = by_type.get("error", {})
    text = str(error.get("text") or said or done.stderr.strip() or "The request failed.")
    return Outcome(kind=str(error.get("kind") or "config"), text=text)


def _told(choice: Choice, outcome: Outcome) -> str:
    """The sentence of a failure; without what to set where the next question asks for it."""
    if outcome.kind == "auth" and _takes_key(choice):
        return outcome.text.rpartition(" Set ")[0] or outcome.text
    return outcome.text


def _takes_key(choice: Choice) -> bool:
    """Whether a key that is typed here would be used: the environment's goes first."""
    return bool(choice.offer.key) and not os.environ.get(choice.offer.key)


def _hints(choice: Choice, outcome: Outcome) -> list[str]:
    """What can be told of a failure beside its own sentence."""
    if outcome.kind in ("network", "auth") or not choice.offer.address:
        return []
    if choice.listed and choice.model not in choice.listed:
        return ["The key and the address are fine; the server names other models."]
    if not choice.listed and choice.offer.asks_address:
        address = choice.offer.address
        return [f"There is no list of models at {address} either; most addresses end in /v1."]
    return []


def _mend(choice: Choice, outcome: Outcome, offers: list[Offer], present: Present) -> Choice | None:
    """The choice as the person changes it; None to keep it as it is."""
    offer = choice.offer
    ways: list[tuple[str, str, Callable[[], Choice | None]]] = []
    if _takes_key(choice):
        ways.append(("key", "another key", lambda: ask_key(choice, present)))
    ways.append(("model", "another model", lambda: ask_model(choice, present)))
    if offer.asks_address:
        ways.append(("address", "another address", lambda: _elsewhere(choice, present)))
    ways += [
        ("again", "the same once more", lambda: choice),
        ("provider", "another provider", lambda: ask_provider(offers, present)),
        ("keep", "keep it anyway", lambda: None),
        ("quit", "leave, and change nothing", _leave),
    ]
    names = [name for name, _, _ in ways]
    wanted = _likeliest(choice, outcome)
    preferred = names.index(wanted) if wanted in names else names.index("again")
    picked = dialogue.choose("What now?", [title for _, title, _ in ways], preferred)
    return ways[picked][2]()


def _likeliest(choice: Choice, outcome: Outcome) -> str:
    if outcome.kind == "auth":
        return "key"
    if outcome.kind == "network":
        return "address"
    if choice.listed and choice.model not in choice.listed:
        return "model"
    return "address" if choice.offer.asks_address and not choice.listed else "model"


def _elsewhere(choice: Choice, present: Present) -> Choice:
    return ask_model(ask_address(choice, present), present)


def _leave() -> Choice:
    raise Left
