"""One turn of the real product with recorded words, shown while it happens."""

from __future__ import annotations

from .live import Live
from .process import Line, ask, run
from .record import Record
from .screen import Screen
from .stage import Stage

SESSION = "demo"


def play(stage: Stage, prompt: str, screen: Screen) -> tuple[Record, list[str]]:
    """Run ``prompt`` on the stage; what happened, and a sentence for each thing that went wrong."""
    model = f"scripted/{stage.words}"
    options = ["--json", "--session", SESSION, "--no-input", "--model", model]
    screen.say(f"folder  {stage.project}  (a copy; your own files and sessions are not touched)")
    screen.say(f'run     hookline run "{prompt}" {" ".join(options)}')
    screen.write("\nyou    ", "bold")
    screen.say(prompt)
    record, live = Record(), Live(screen)

    def each(line: Line) -> None:
        record.add(line)
        live.show(line)

    ended = run(stage, ["run", prompt, *options], each)
    screen.say()
    return record, _wrong(stage, record, ended.code, ended.timed_out)


def _wrong(stage: Stage, record: Record, code: int, timed_out: bool) -> list[str]:
    """Sentences about a run that did not end as it should, the cause first."""
    wrong = _missing_tools(stage, record)
    if timed_out:
        wrong.append("the run took too long and was stopped")
    elif not record.reply:
        told = [*record.errors, *_last_words(stage)]
        wrong.append(f"the model's reply did not arrive{': ' if told else ''}{' '.join(told)}")
    elif code != 0:
        wrong.append(f"hookline run ended with exit code {code}. {' '.join(_last_words(stage))}")
    return wrong


def _missing_tools(stage: Stage, record: Record) -> list[str]:
    """A sentence for each tool that was not there: which plugins are not on, and why."""
    if not record.missing_tools:
        return []
    rows = ask(stage, "plugins", "list", "--json")
    absent = [
        f"{row.get('name')} is {row.get('state')}"
        + (f" ({row['reason']})" if row.get("reason") else "")
        for row in (rows if isinstance(rows, list) else [])
        if row.get("state") != "on"
    ]
    why = f"plugin {', '.join(absent)}" if absent else "no plugin brings it"
    return [f"the model has no tool {name}: {why}" for name in dict.fromkeys(record.missing_tools)]


def _last_words(stage: Stage) -> list[str]:
    """The last line that the run wrote to stderr, if any."""
    lines = stage.log.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1:]
