"""Releases of apps, each shipped in its own session, and the calls that they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..process import Line, RunResult, run
from ..run_display import shortened
from ..run_record import RunRecord
from ..screen import Screen
from ..stage import Stage
from ..turn import missing_tools


@dataclass(frozen=True)
class ReleaseResult:
    """One session: how many calls it took, how many failed, and how it ended."""

    calls: int
    errors: int
    wrong: tuple[str, ...] = ()


def next_release(project: Path, app: str, version: str, needs: tuple[str, ...]) -> None:
    """Set up the next release, with nothing built and no page in maintenance."""
    listed = ", ".join(f'"{need}"' for need in needs)
    text = f'app = "{app}"\nversion = "{version}"\nneeds = [{listed}]\n'
    (project / "release.toml").write_text(text, "utf-8")
    for mark in (project / ".state").glob("*"):
        mark.unlink()


def session(
    stage: Stage, screen: Screen, name: str, prompt: str, variables: Mapping[str, str]
) -> ReleaseResult:
    """Run one turn in a new session, including its reviews."""
    record = RunRecord()

    def each(line: Line) -> None:
        record.add(line)
        if line.get("type") == "tool_result":
            _show_call(screen, record, line)

    model = stage.model or f"scripted/{stage.words}"
    options = ["--json", "--session", name, "--no-input", "--model", model]
    ended = run(stage, ["run", prompt, *options], each, variables)
    if record.reply:
        screen.say(f"  model  {' '.join(shortened(record.reply))}", "good")
    errors = sum(_failed(line) for line in record.results)
    return ReleaseResult(len(record.calls), errors, tuple(_went_wrong(stage, name, record, ended)))


def _show_call(screen: Screen, record: RunRecord, result: Line) -> None:
    call = next(line for line in record.calls if line.get("id") == result.get("id"))
    arguments = call.get("arguments")
    words = (
        [str(value).split("\n")[0] for value in arguments.values()]
        if isinstance(arguments, dict)
        else []
    )
    shown = " ".join([str(call.get("name")), *words])[:90]
    failed = _failed(result)
    why = f"   {_first_line(result)}" if failed else ""
    screen.say(f"  {'x' if failed else '>'} {shown}{why}", "bad" if failed else "dim")


def _first_line(result: Line) -> str:
    return str(result.get("text", "")).strip().split("\n")[0][:80]


def _failed(result: Line) -> bool:
    """Whether a call failed; a command fails if its exit code is not 0."""
    last = str(result.get("text", "")).strip().rpartition("\n")[2]
    exit_code = last.removeprefix("[exit code ") if last.startswith("[exit code ") else "0]"
    return not result.get("ok", True) or exit_code != "0]"


def _went_wrong(stage: Stage, session: str, record: RunRecord, ended: RunResult) -> list[str]:
    found = missing_tools(stage, record)
    if ended.timed_out:
        found.append(f"{session} took too long and was stopped")
    elif not record.reply:
        found.append(f"{session} has no reply: {' '.join(record.errors) or 'no reason arguments'}")
    elif ended.code != 0:
        found.append(f"{session} ended with exit code {ended.code}")
    return found


def table(
    screen: Screen, heading: str, results: Sequence[ReleaseResult], columns: Sequence[str] = ()
) -> None:
    """Show a table of sessions, numbered if there are no ``columns``."""
    names = columns or [f"session {n}" for n in range(1, len(results) + 1)]
    screen.say(heading, "bold")
    screen.say(f"  {'':<12}" + "".join(f"{name:>11}" for name in names))
    for name, values in (
        ("tool calls", [result.calls for result in results]),
        ("errors", [result.errors for result in results]),
    ):
        screen.say(f"  {name:<12}" + "".join(f"{value:>11}" for value in values))
    screen.say()
