"""Tries the chosen model with a request as `hookline run` sends it, and offers changes."""

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
from .current_setup import CurrentSetup
from .hookline_process import run_hookline, trial_home
from .model_choice import ModelChoice, ask_address, ask_key, ask_model, ask_provider
from .provider_offers import ProviderOffer

REQUEST_TIMEOUT = 90
"""Seconds for the test request; a local model may have to be loaded first."""

_OVERRIDES = re.compile(r"HOOKLINE_(MODEL|STORE|PLUGINS__.*)$")
"""Variables that would change what is tried."""


class SetupAborted(Exception):
    """The person leaves the set-up."""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """The result of the request: the answer, or the kind of the failure and its text."""

    answer: str = ""
    kind: str = ""
    text: str = ""


def ask_until_it_answers(offers: list[ProviderOffer], current: CurrentSetup) -> ModelChoice:
    """Ask for a model and try it, until it answers or the person keeps it anyway.

    Raises:
        EOFError: the input has ended.
        SetupAborted: the person leaves.
    """
    choice = ask_provider(offers, current)
    while choice.can_answer(current):
        dialogue.tell(f"Sending one test request to {literal(choice.name)} …")
        outcome = try_model(choice, current)
        if not outcome.kind:
            dialogue.tell(f"It answered: {literal(outcome.answer)}")
            return choice
        dialogue.explain(literal(error_text(choice, outcome)))
        for hint in hints(choice, outcome):
            dialogue.explain(hint)
        changed = _ask_for_change(choice, outcome, offers, current)
        if changed is None:
            return choice
        choice = changed
    return choice


def try_model(choice: ModelChoice, current: CurrentSetup) -> TrialOutcome:
    """Send one request, in a temporary home with nothing but this provider."""
    config = trial_config(choice, current)
    env = {name: value for name, value in current.env.items() if not _OVERRIDES.match(name)}
    words = ("run", "--json", "--no-input", "--no-wait", "Say: ready")
    with trial_home(json.dumps(config)) as home:
        try:
            done = run_hookline(home, *words, timeout=REQUEST_TIMEOUT, env=env | choice.variables)
        except subprocess.TimeoutExpired:
            return TrialOutcome(kind="network", text=f"No answer within {REQUEST_TIMEOUT} s.")
    return _read(done)


def trial_config(choice: ModelChoice, current: CurrentSetup) -> dict[str, Any]:
    """Return a config with the provider of a choice and nothing else."""
    section = current.section("providers", choice.offer.name) | (choice.section or {})
    config: dict[str, Any] = {"model": choice.name}
    if section:
        config["providers"] = {choice.offer.name: section}
    if isinstance(network := current.values.get("network"), dict):
        config["network"] = network
    return config


def _read(done: subprocess.CompletedProcess[str]) -> TrialOutcome:
    events = []
    for line in done.stdout.split("\n"):
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    by_type = {event.get("type"): event for event in events if isinstance(event, dict)}
    reply = str(by_type.get("result", {}).get("text", "")).strip()
    if done.returncode == 0:
        return TrialOutcome(answer=reply)
    error = by_type.get("error", {})
    text = str(error.get("text") or reply or done.stderr.strip() or "The request failed.")
    return TrialOutcome(kind=str(error.get("kind") or "config"), text=text)


def error_text(choice: ModelChoice, outcome: TrialOutcome) -> str:
    """Return the text of a failure, without its advice to set a key if that is asked next."""
    if outcome.kind == "auth" and _takes_key(choice):
        return outcome.text.rpartition(" Set ")[0] or outcome.text
    return outcome.text


def _takes_key(choice: ModelChoice) -> bool:
    """Whether a key typed here would be used: one in the environment overrides it."""
    return bool(choice.offer.key) and not os.environ.get(choice.offer.key)


def hints(choice: ModelChoice, outcome: TrialOutcome) -> list[str]:
    """Return further sentences about a failure."""
    if outcome.kind in ("network", "auth") or not choice.offer.address:
        return []
    if choice.listed and choice.model not in choice.listed:
        return ["Key and address are fine, but the server lists other models."]
    if not choice.listed and choice.offer.asks_address:
        address = choice.offer.address
        return [f"{address} does not list models either; most addresses end in /v1."]
    return []


def _ask_for_change(
    choice: ModelChoice, outcome: TrialOutcome, offers: list[ProviderOffer], current: CurrentSetup
) -> ModelChoice | None:
    """Ask what to change; returns the new choice, None to keep the old one."""
    offer = choice.offer
    ways: list[tuple[str, str, Callable[[], ModelChoice | None]]] = []
    if _takes_key(choice):
        ways.append(("key", "another key", lambda: ask_key(choice, current)))
    ways.append(("model", "another model", lambda: ask_model(choice, current)))
    if offer.asks_address:
        ways.append(("address", "another address", lambda: _ask_address(choice, current)))
    ways += [
        ("again", "try again", lambda: choice),
        ("provider", "another provider", lambda: ask_provider(offers, current)),
        ("keep", "keep it anyway", lambda: None),
        ("quit", "leave, and change nothing", _leave),
    ]
    names = [name for name, _, _ in ways]
    likeliest = _likeliest(choice, outcome)
    preferred = names.index(likeliest) if likeliest in names else names.index("again")
    picked = dialogue.choose("What now?", [title for _, title, _ in ways], preferred)
    return ways[picked][2]()


def _likeliest(choice: ModelChoice, outcome: TrialOutcome) -> str:
    if outcome.kind == "auth":
        return "key"
    if outcome.kind == "network":
        return "address"
    if choice.listed and choice.model not in choice.listed:
        return "model"
    return "address" if choice.offer.asks_address and not choice.listed else "model"


def _ask_address(choice: ModelChoice, current: CurrentSetup) -> ModelChoice:
    return ask_model(ask_address(choice, current), current)


def _leave() -> ModelChoice:
    raise SetupAborted
