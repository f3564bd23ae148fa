"""Runs one real turn with recorded words, and displays it while it runs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from .process import Line, RunResult, ask, run
from .run_display import RunDisplay
from .run_record import RunRecord
from .screen import Screen
from .stage import Stage

SESSION = "demo"
TOO_LONG = "the run took too long and was stopped"
RECORDED_NOTICE = (
    "The model's words in this demo are recorded (provider scripted); "
    "the tools, hooks, approvals and storage are real."
)
"""The first line of every story."""


def play(stage: Stage, prompt: str, screen: Screen) -> tuple[RunRecord, list[str]]:
    """Run ``prompt`` on the stage; return the record and a sentence for each problem."""
    say_where(stage, screen)
    say_command(prompt, screen, stage)
    screen.write("\nyou    ", "bold")
    screen.say(prompt)
    record, ended = perform(stage, prompt, screen)
    return record, wrong(stage, record, ended)


def perform(
    stage: Stage,
    prompt: str,
    screen: Screen,
    headings: Sequence[str] = (),
    variables: Mapping[str, str] = MappingProxyType({}),
    options: Sequence[str] = (),
    stdin: int = subprocess.DEVNULL,
) -> tuple[RunRecord, RunResult]:
    """Run ``prompt`` and display the run.

    The n-th of the ``headings`` is shown when the n-th turn starts; ``variables`` are added to the
    environment; ``options`` replace the default command-line options; ``stdin`` is a file
    descriptor.
    """
    record, live = RunRecord(), RunDisplay(screen)

    def each(line: Line) -> None:
        record.add(line)
        live.show(line)
        if line.get("type") == "start" and record.turns <= len(headings):
            screen.say(f"\n{headings[record.turns - 1]}", "bold")

    ended = run(stage, ["run", prompt, *(options or options_of(stage))], each, variables, stdin)
    screen.say()
    return record, ended


def say_where(stage: Stage, screen: Screen) -> None:
    """Show the story's folder."""
    screen.say(f"folder  {stage.project}  (a copy; your own files and sessions are not touched)")


def say_command(prompt: str, screen: Screen, stage: Stage, before: str = "") -> None:
    """Show the command line that is run, with a prefix ``before`` it."""
    screen.say(f'run     {before}hookline run "{prompt}" {" ".join(options_of(stage))}')


def tell_failure(wrong: Sequence[str], screen: Screen) -> None:
    """Report that the story failed, with a sentence for each reason."""
    screen.say("The story failed:", "bad")
    for sentence in wrong:
        screen.say(f"  - {sentence}", "bad")


def wrong(stage: Stage, record: RunRecord, ended: RunResult) -> list[str]:
    """A sentence for each problem of a run, the cause first."""
    found = missing_tools(stage, record)
    if ended.timed_out:
        found.append(TOO_LONG)
    elif not record.reply:
        errors = [*record.errors, *_last_words(stage)]
        found.append(f"the model's reply did not arrive{': ' if errors else ''}{' '.join(errors)}")
    elif ended.code != 0:
        words = " ".join(_last_words(stage))
        found.append(f"hookline run ended with exit code {ended.code}. {words}")
    return found


def options_of(stage: Stage, session: str = SESSION, *, grants: bool = False) -> list[str]:
    """The options of a run with recorded words, which denies or grants all requests."""
    answer = "--yes" if grants else "--no-input"
    return ["--json", "--session", session, answer, "--model", f"scripted/{stage.words}"]


def missing_tools(stage: Stage, record: RunRecord) -> list[str]:
    """A sentence for each missing tool: which plugins are not on, and why."""
    if not record.missing_tools:
        return []
    rows = ask(stage, "plugins", "list", "--json")
    absent = [
        f"{row.get('name')} is {row.get('state')}"
        + (f" ({row['reason']})" if row.get("reason") else "")
        for row in (rows if isinstance(rows, list) else [])
        if row.get("state") != "on"
    ]
    why = f"plugin {', '.join(absent)}" if absent else "no plugin provides it"
    return [f"the model has no tool {name}: {why}" for name in dict.fromkeys(record.missing_tools)]


def _last_words(stage: Stage) -> list[str]:
    """The last line that the run wrote to stderr, if any."""
    lines = stage.log.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1:]
