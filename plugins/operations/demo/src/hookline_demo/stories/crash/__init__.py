"""The story ``crash``: a turn is killed in the middle of a command; the next start finishes it."""

from __future__ import annotations

from dataclasses import dataclass

from ...process import RunResult
from ...run_record import RunRecord
from ...screen import Screen
from ...stage import Stage
from ...transcript import Transcript
from ...turn import (
    RECORDED_NOTICE,
    SESSION,
    TOO_LONG,
    missing_tools,
    perform,
    say_command,
    say_where,
    tell_failure,
    wrong,
)

PROMPT = "Deploy version 2, as DEPLOY.md says."
NEXT = "and now?"
KILL = {"HOOKLINE_CRASH_AT": "mid-tool:2"}
"""Makes Hookline kill itself after the second tool has run, before its result is stored."""
KILLED = -9
"""The return code of a process that SIGKILL ended."""
COMMAND = "bash"
"""The tool of the call that is killed."""
UNKNOWN = "Interrupted: "
"""The start of the result of a call whose outcome is unknown."""
FINISHED = "Finished from before: "
"""The start of the notice with the reply of an interrupted turn."""


@dataclass(frozen=True)
class CrashEvidence:
    """The output of the runs, and what they left on disk."""

    first: RunRecord
    second: RunRecord
    stored: Transcript
    log_lines: int

    @property
    def repeated(self) -> list[str]:
        """Names of calls of the first run that ran again: with a new result, or as a new call."""
        finished = {line.get("id") for line in self.second.results}
        repeated = [(line.get("name"), line.get("arguments")) for line in self.second.calls]
        return [
            str(line.get("name"))
            for line in self.first.calls
            if line.get("id") in finished or (line.get("name"), line.get("arguments")) in repeated
        ]

    @property
    def killed_result(self) -> str:
        """The stored result of the killed call."""
        return " / ".join(text for call in self.stored.called(COMMAND) for text in call.results)

    @property
    def reply(self) -> str:
        """The reply of the interrupted turn, as shown by the second run."""
        shown = [text for text in self.second.notices if text.startswith(FINISHED)]
        return shown[0].removeprefix(FINISHED) if shown else ""


def tell(stage: Stage, screen: Screen) -> bool:
    """Run both parts, check and show the results; return True if the checks pass."""
    screen.say(RECORDED_NOTICE, "bold")
    screen.say()
    say_where(stage, screen)
    first, not_killed = _killed(stage, screen)
    if not_killed:
        tell_failure(not_killed, screen)
        return False
    second, ended = _next(stage, screen)
    evidence = CrashEvidence(first, second, Transcript.of(stage, SESSION), _log_lines(stage))
    failed = [*wrong(stage, second, ended), *_failed_checks(evidence)]
    if failed:
        tell_failure(failed, screen)
        return False
    _show(evidence, screen)
    return True


def _killed(stage: Stage, screen: Screen) -> tuple[RunRecord, list[str]]:
    """Run until the kill; return the record and a sentence for each failed check."""
    [(name, point)] = KILL.items()
    say_command(PROMPT, screen, stage, f"{name}={point} ")
    record, ended = perform(stage, PROMPT, screen, [f"you    {PROMPT}"], KILL)
    if ended.code != KILLED or ended.timed_out:
        return record, [*missing_tools(stage, record), _not_killed(record, ended)]
    screen.say(f"The process was killed: SIGKILL, return code {ended.code}. On disk:", "bad")
    lines, pending = _log_lines(stage), Transcript.of(stage, SESSION).called(COMMAND)
    screen.say(f"  deploy.log         {lines} line(s): the command took effect")
    results = sum(len(call.results) for call in pending)
    screen.say(f"  the session        {len(pending)} call of {COMMAND}, {results} results")
    screen.say()
    if (lines, len(pending), results) == (1, 1, 0):
        return record, []
    return record, [
        "the kill should have come between the command and its result: deploy.log has "
        f"{lines} lines, the session {len(pending)} calls of {COMMAND} with {results} results"
    ]


def _not_killed(record: RunRecord, ended: RunResult) -> str:
    errors = "".join(f" {text}" for text in record.errors)
    code = f"the run was not killed: it ended with exit code {ended.code}.{errors}"
    return TOO_LONG if ended.timed_out else code


def _next(stage: Stage, screen: Screen) -> tuple[RunRecord, RunResult]:
    """Start again in the same session, with a new message."""
    say_command(NEXT, screen, stage)
    first = "(first the interrupted turn, which continues where it stopped)"
    return perform(stage, NEXT, screen, [first, f"you    {NEXT}"])


def _failed_checks(seen: CrashEvidence) -> list[str]:
    """Return a sentence for each check that failed."""
    found = []
    if seen.log_lines != 1:
        found.append(f"deploy.log should have 1 line; it has {seen.log_lines}")
    found += [
        f"the call {call.id} of {call.name} should have 1 stored result; it has {len(call.results)}"
        for call in seen.stored.calls
        if len(call.results) != 1
    ]
    if seen.repeated:
        found.append(f"no call should have run again; these did: {', '.join(seen.repeated)}")
    if not seen.killed_result.startswith(UNKNOWN):
        found.append(
            f"the model did not learn that {COMMAND} was interrupted, but got: {seen.killed_result}"
        )
    if not seen.reply or seen.stored.replies != [seen.reply, seen.second.reply]:
        found.append("the interrupted turn and the new message should each have their own reply")
    return found


def _show(seen: CrashEvidence, screen: Screen) -> None:
    total = len(seen.stored.calls)
    screen.say("Checked afterwards:", "bold")
    screen.say(f"  deploy.log         {seen.log_lines} line: the command did not run twice", "good")
    screen.say(f"  the session        {total} tool calls, each with exactly one result", "good")
    screen.say(f"  run again          {', '.join(seen.repeated) or 'none'}", "good")
    screen.say(f"  result of {COMMAND}     {seen.killed_result}")
    screen.say(f"  interrupted turn   {seen.reply}")
    screen.say(f"  second message     {seen.second.reply}")
    screen.say()
    screen.say("A read-only call would have been repeated. A call that may change something is")
    screen.say("not: the model reads that its outcome is unknown, and checks first.")


def _log_lines(stage: Stage) -> int:
    """Return the number of lines of deploy.log; 0 if it does not exist."""
    file = stage.project / "deploy.log"
    return len(file.read_text("utf-8").splitlines()) if file.is_file() else 0
