"""``hookline init``: asks questions, tries the answers, and writes files at the very end.

:mod:`.current_setup` reads the home, :mod:`.model_choice` asks for the model, :mod:`.model_trial`
tries it, :mod:`.channels` adds channels, :mod:`.home_files` makes and writes the files.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from hookline_hookspecs import Configuration, Host
from hookline_markdown import literal

from . import home_files
from .channels import ChannelAnswers, ask_channels, channel_plugins, is_on
from .claim_code import show_claim_code
from .current_setup import CurrentSetup, read_current_setup
from .dialogue import choose, tell
from .model_choice import ModelChoice
from .model_trial import SetupAborted, ask_until_it_answers
from .provider_offers import offers

INTERRUPTED = 130
"""Exit code."""
MODEL_VARIABLE = "HOOKLINE_MODEL"
NEXT = ("hookline chat", 'hookline run "What is in this folder?"', "hookline doctor")
NEXT_WITH_CHANNEL = ("hookline gateway", "hookline doctor", "hookline chat")
WEB = "hookline web"


@dataclass(frozen=True, slots=True)
class SetupChanges:
    """What to write: settings of config.yaml by dotted key, and variables of .env."""

    settings: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    has_channel: bool = False


def initialise(host: Host, core: Configuration, *, ask: bool = True) -> None:
    """Set up the home of ``host``; answers of an earlier run are the defaults.

    Without ``ask`` or a terminal, only missing files are written.
    """
    try:
        _initialise(host, core, ask)
    except OSError as error:
        where = error.filename or host.home
        tell(f"hookline: {where}: {error.strerror or error}; set-up stopped")
        raise SystemExit(1) from None


def _initialise(host: Host, core: Configuration, ask: bool) -> None:
    for name in (".env", "config.yaml"):
        home_files.check_is_file(host.home / name)
    now = read_current_setup(host.home, core)
    if not (ask and sys.stdin.isatty() and sys.stdout.isatty()):
        _write_missing_files(host.home, now)
        return
    try:
        now = _usable(now)
        changes, texts = _ask(host, now)
    except SetupAborted:
        tell("Nothing was changed.")
        raise SystemExit(INTERRUPTED) from None
    except (EOFError, KeyboardInterrupt):
        tell("\nNothing was changed.")
        raise SystemExit(INTERRUPTED) from None
    _write(host.home, texts, changes)
    if other := os.environ.get(MODEL_VARIABLE):
        tell(f"{MODEL_VARIABLE}={literal(other)} in the environment overrides config.yaml.")
    if changes.has_channel:
        with suppress(KeyboardInterrupt):
            show_claim_code(host.home)
    _tell_next(NEXT_WITH_CHANNEL if changes.has_channel else NEXT)


def _write_missing_files(home: Path, now: CurrentSetup) -> None:
    tell(*(f"hookline: {literal(problem)}" for problem in now.problems))
    _write(home, _texts(home, now, SetupChanges(), anew=False), SetupChanges())
    tell("Not asking questions here. Put a key into .env, then run `hookline doctor`.")
    _tell_next(NEXT)


def _tell_next(commands: Sequence[str]) -> None:
    """Show what to run next; ``hookline web`` is second if it is installed."""
    web = [WEB] if entry_points(group="hookline.plugins", name="web-ui") else []
    tell("Next:", *(f"  {command}" for command in [*commands[:1], *web, *commands[1:]]))


def _usable(now: CurrentSetup) -> CurrentSetup:
    """Return the current setup, or an empty one if it is broken and the person starts over.

    Raises:
        SetupAborted: the person leaves.
    """
    if not now.problems:
        return now
    tell(
        "Hookline cannot start with this config:",
        *(f"  {literal(problem)}" for problem in now.problems),
    )
    options = [f"start with a new config.yaml and keep this one as {home_files.OLD}"]
    if now.readable:
        options.append("keep it, and change only what is asked here")
    picked = choose("What do you want to do?", [*options, "leave, and change nothing"])
    if picked == len(options):
        raise SetupAborted
    return now if picked else CurrentSetup(dotenv=now.dotenv)


def _ask(host: Host, now: CurrentSetup) -> tuple[SetupChanges, dict[str, str]]:
    """Ask everything; returns the changes, and the texts of the files that change."""
    while True:
        choice = ask_until_it_answers(offers(now, host), now)
        if not choice.can_answer(now):
            tell(f"No key yet. Put {choice.offer.key} into .env before the first chat.")
        known = channel_plugins(host)
        changes = changes_of(choice, ask_channels(known, now), now)
        if any(is_on(plugin.name, now) for plugin in known):
            changes = replace(changes, has_channel=True)
        try:
            anew = now.text is None
            return changes, _texts(host.home, now, changes, anew=anew)
        except home_files.UnusableConfig as error:
            tell("Hookline could not start with that:", f"  {literal(str(error))}")
            if choose("What now?", ["ask again", "leave, and change nothing"]):
                raise SetupAborted from None


def changes_of(
    choice: ModelChoice, channels: Mapping[str, ChannelAnswers], now: CurrentSetup
) -> SetupChanges:
    """Return what to write for a model and channels."""
    settings: dict[str, Any] = {}
    if now.text is None or choice.name != now.model:
        settings["model"] = choice.name
    if choice.section is not None:
        settings[f"providers.{choice.offer.name}"] = choice.section
    variables = dict(choice.variables)
    for name, answers in channels.items():
        variables |= answers.variables
        if answers.section != now.section("plugins", name) or not is_on(name, now):
            settings[f"plugins.{name}"] = answers.section or True
    return SetupChanges(settings, variables, bool(channels))


def _texts(home: Path, now: CurrentSetup, changes: SetupChanges, *, anew: bool) -> dict[str, str]:
    """Return the new texts of the files that change, by name."""
    with_new = replace(now, dotenv={**now.dotenv, **changes.variables})
    texts = {}
    before = home_files.read(home / ".env")
    text = home_files.template("env.template") if before is None else before
    env = home_files.env_with(text, changes.variables)
    if before != env:
        texts[".env"] = env
    before = home_files.read(home / "config.yaml")
    if before is None or anew or changes.settings:
        config = home_files.config_with(with_new, changes.settings)
        if before is not None and anew:
            texts[home_files.OLD] = before
        if before != config:
            texts["config.yaml"] = config
    return texts


def _write(home: Path, texts: Mapping[str, str], changes: SetupChanges) -> None:
    """Write the files. Ctrl-C is ignored meanwhile."""
    names = {".env": ", ".join(changes.variables), "config.yaml": ", ".join(changes.settings)}
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        write_files(home, texts)
    finally:
        signal.signal(signal.SIGINT, handler)
    for name in texts:
        content = names.get(name)
        tell(f"{home / name}: written" + (f" with {content}" if content else ""))
    for name in sorted({".env", "config.yaml"} - texts.keys()):
        tell(f"{home / name}: unchanged")


def write_files(home: Path, texts: Mapping[str, str]) -> None:
    """Write files of a home, by name."""
    home_files.make_home(home)
    for name, text in texts.items():
        home_files.replace(home / name, text)
    (home / ".env").chmod(0o600)
