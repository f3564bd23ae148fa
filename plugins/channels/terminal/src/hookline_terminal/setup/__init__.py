"""``hookline init``: asks, tries what was answered, and writes it down at the very end.

:mod:`.present` reads what there is, :mod:`.choices` asks for the model, :mod:`.trial` tries it,
:mod:`.channels` adds channels, :mod:`.files` makes the files' texts and writes them.
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

from . import channel, files
from .channels import Answers, ask_channels, channel_plugins, is_on
from .choices import Choice
from .dialogue import choose, tell
from .present import Present, present
from .servers import offers
from .trial import Left, ask_until_it_answers

INTERRUPTED = 130
MODEL = "HOOKLINE_MODEL"
NEXT = ("hookline chat", 'hookline run "What is in this folder?"', "hookline doctor")
NEXT_WITH_CHANNEL = ("hookline gateway", "hookline doctor", "hookline chat")
WEB = "hookline web"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be written: settings of config.yaml by dotted key, and variables of .env."""

    settings: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    has_channel: bool = False


def initialise(host: Host, core: Configuration, *, ask: bool = True) -> None:
    """Set the home of ``host`` up. Run again, it shows what is set and changes what is answered.

    Where nobody can be asked, files that are absent are written and nothing else is touched.
    """
    try:
        _initialise(host, core, ask)
    except OSError as error:
        where = error.filename or host.home
        tell(f"hookline: {where}: {error.strerror or error}; nothing more is done")
        raise SystemExit(1) from None


def _initialise(host: Host, core: Configuration, ask: bool) -> None:
    for name in (".env", "config.yaml"):
        files.refuse_no_file(host.home / name)
    now = present(host.home, core)
    if not (ask and sys.stdin.isatty() and sys.stdout.isatty()):
        _without_asking(host.home, now)
        return
    try:
        now = _usable(now)
        wanted, texts = _ask(host, now)
    except Left:
        tell("Nothing was changed.")
        raise SystemExit(INTERRUPTED) from None
    except (EOFError, KeyboardInterrupt):
        tell("\nNothing was changed.")
        raise SystemExit(INTERRUPTED) from None
    _write(host.home, texts, wanted)
    if other := os.environ.get(MODEL):
        tell(f"{MODEL}={literal(other)} in the environment wins over config.yaml.")
    if wanted.has_channel:
        with suppress(KeyboardInterrupt):
            channel.prepare(host.home)
    _tell_next(NEXT_WITH_CHANNEL if wanted.has_channel else NEXT)


def _without_asking(home: Path, now: Present) -> None:
    tell(*(f"hookline: {literal(problem)}" for problem in now.problems))
    _write(home, _texts(home, now, Wanted(), anew=False), Wanted())
    tell("Nobody can be asked here: put a key into .env, then try `hookline doctor`.")
    _tell_next(NEXT)


def _tell_next(commands: Sequence[str]) -> None:
    """The commands to go on with, the page's after the first where it is installed."""
    web = [WEB] if entry_points(group="hookline.plugins", name="web-ui") else []
    tell("Next:", *(f"  {command}" for command in [*commands[:1], *web, *commands[1:]]))


def _usable(now: Present) -> Present:
    """What there is, or nothing if the person begins anew. Raises ``Left``."""
    if not now.problems:
        return now
    tell(
        "Hookline cannot start as it is set up now:", *(f"  {literal(one)}" for one in now.problems)
    )
    ways = [f"begin with a new config.yaml; the present one is kept as {files.OLD}"]
    if now.readable:
        ways.append("keep it, and change only what is asked here")
    picked = choose("What do you want to do?", [*ways, "leave, and change nothing"])
    if picked == len(ways):
        raise Left
    return now if picked else Present(dotenv=now.dotenv)


def _ask(host: Host, now: Present) -> tuple[Wanted, dict[str, str]]:
    """What is wanted, and the texts of the files that change."""
    while True:
        choice = ask_until_it_answers(offers(now, host), now)
        if not choice.can_answer(now):
            tell(f"No key yet: put {choice.offer.key} into .env before the first chat.")
        known = channel_plugins(host)
        wanted = _wanted(choice, ask_channels(known, now), now)
        wanted = replace(
            wanted, has_channel=wanted.has_channel or any(is_on(one.name, now) for one in known)
        )
        try:
            anew = now.text is None
            return wanted, _texts(host.home, now, wanted, anew=anew)
        except files.NotWritable as error:
            tell("Hookline could not start with that:", f"  {literal(str(error))}")
            if choose("What now?", ["ask again", "leave, and change nothing"]):
                raise Left from None


def _wanted(choice: Choice, channels: Mapping[str, Answers], now: Present) -> Wanted:
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
    return Wanted(settings, variables, bool(channels))


def _texts(home: Path, now: Present, wanted: Wanted, *, anew: bool) -> dict[str, str]:
    """The new texts of the files that change, by name."""
    with_new = replace(now, dotenv={**now.dotenv, **wanted.variables})
    texts = {}
    before = files.read(home / ".env")
    text = files.template("env.template") if before is None else before
    env = files.env_with(text, wanted.variables)
    if before != env:
        texts[".env"] = env
    before = files.read(home / "config.yaml")
    if before is None or anew or wanted.settings:
        config = files.config_with(with_new, wanted.settings)
        if before is not None and anew:
            texts[files.OLD] = before
        if before != config:
            texts["config.yaml"] = config
    return texts


def _write(home: Path, texts: Mapping[str, str], wanted: Wanted) -> None:
    """Write the files, which Ctrl-C does not interrupt."""
    about = {".env": ", ".join(wanted.variables), "config.yaml": ", ".join(wanted.settings)}
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        files.make_home(home)
        for name, text in texts.items():
            files.replace(home / name, text)
            told = about.get(name)
            tell(f"{home / name}: written" + (f" with {told}" if told else ""))
        for name in sorted({".env", "config.yaml"} - texts.keys()):
            tell(f"{home / name}: unchanged")
        (home / ".env").chmod(0o600)
    finally:
        signal.signal(signal.SIGINT, handler)
