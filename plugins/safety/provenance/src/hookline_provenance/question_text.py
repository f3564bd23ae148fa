"""What a person reads: where it came from and what it would do, on one screen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Effect, Origin, StoredQuestion, ToolCall
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import on_one_line, shorten_middle, spell_out

from .judge import Finding
from .known_values import Met

if TYPE_CHECKING:
    from .writes import Mark

MAX_NAMED_SOURCES = 3
"""Sources that are named; of the others, the number."""
MAX_LINE_CHARS = 120
"""Characters of a source or a target in a list."""
MAX_CALL_CHARS = 4_000
"""Characters of a call in a list; of a longer one the middle is counted."""
DOES: Mapping[str, str] = {
    "pay": N_("move money"),
    "grant_access": N_("let someone in"),
    "credential": N_("set a password or key"),
    "delete": N_("delete something"),
    "book": N_("book or order something"),
    "learn": N_("keep something for good"),
    "schedule": N_("have something run later"),
    "configure": N_("change what programs or agents do by themselves"),
    "send": N_("send something out"),
    "network": N_("open an address that you did not name"),
    "write": N_("change something that you did not name"),
    "read": N_("read something"),
    "execute": N_("run code that came from outside"),
    "unknown": N_("do something that cannot be known beforehand"),
}
GRAVITY = tuple(DOES)
"""The kinds of effects, as a proposal is named after."""


def sources(origins: Sequence[Origin]) -> str:
    """The sources in words: the first ones by name."""
    named = [_short(origin.source or origin.kind) for origin in origins]
    shown = ", ".join(dict.fromkeys(named[:MAX_NAMED_SOURCES]))
    left = len(set(named[MAX_NAMED_SOURCES:]))
    return f"{shown} and {left} more" if left else shown


def effects(found: Sequence[Effect]) -> str:
    """What the call would do, in words."""
    parts = [f"{DOES[one.kind]}{f' ({_short(one.target)})' if one.target else ''}" for one in found]
    return ", ".join(dict.fromkeys(parts))


def details(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The values that decide the call, one line each, with where each was met."""
    return tuple(dict.fromkeys(_line(one) for one in findings))


def _line(finding: Finding) -> str:
    """A value, what it is, and where it was met: ``to: US13 - recipient, read in bill.txt …``."""
    what = finding.met.label
    value = shown_value(finding.value) if finding.value else "unknown"
    shown = f"{value} ({_short(what)})" if what and what != finding.value else value
    sink = f"{finding.sink} (guessed)" if finding.guessed else finding.sink
    about = f"{sink}, " if finding.argument else ""
    return f"{finding.argument or sink}: {shown} - {about}{_met(finding.met)}"


def _met(met: Met) -> str:
    where = f" in {_short(met.where)}" if met.where else ""
    quote = f": “{_short(met.quote)}”" if met.quote else ""
    match met.source:
        case "named":
            return "allowed by `trust`" if met.where == "trust" else "in your words"
        case "mentioned":
            return "in your words, which do not ask to delete anything"
        case "earlier":
            return "in your earlier words, not in this message"
        case "trusted":
            return f"from own data{where}"
        case "pointed":
            return f"read{where}, which you named; not in your words{quote}"
        case "outside":
            return f"read{where} (from outside), not in your words{quote}"
    return "written by the model, not in your words"


def shown_value(value: str) -> str:
    """A value on one line, with whatever could disguise it made visible."""
    return _short(value)


def reason(origins: Sequence[Origin], found: Sequence[Effect], *, attended: bool) -> str:
    """The sentence of the question."""
    read, does = sources(origins), effects(found)
    if attended:
        return N_(f"this conversation has read from outside ({read}), and the call would {does}")
    return N_(
        f"this conversation has read from outside ({read}), and the call would {does}; it is kept "
        "as a proposal for the operator"
    )


def proposal_text(origins: Sequence[Origin], found: Sequence[Effect]) -> str:
    """The text of the question about a call that no one could be asked about."""
    return f"{N_('Run this call? It had to wait')}: {reason(origins, found, attended=True)}."


def listed(proposals: Sequence[StoredQuestion]) -> str:
    """The proposals, for a terminal or a chat."""
    if not proposals:
        return N_("No proposals are waiting.")
    lines = []
    for one in proposals:
        until = datetime.fromtimestamp(one.expires or 0.0, UTC).date()
        preview = spell_out(one.preview).replace("\n", "\n    | ")
        parts = (one.id, one.tool, N_(f"session {one.session}"), N_(f"open until {until}"))
        lines += [" · ".join(filter(None, parts))]
        lines += [f"    {spell_out(one.text)}", f"    | {preview}"]
    return "\n".join(lines)


def listed_marks(marks: Sequence[Mark]) -> str:
    """The marked files, one a line, for a terminal or a chat."""
    if not marks:
        return N_("No file is marked.")
    return "\n".join(
        f"{on_one_line(one.path, MAX_LINE_CHARS)} · {N_(f'read from {sources(one.origins)}')}"
        for one in marks
    )


def cleared(path: str, origins: Sequence[Origin]) -> str:
    """What was done with a file's mark."""
    shown = on_one_line(path, MAX_LINE_CHARS)
    counts = N_(f"{shown} counts as the workspace's until it changes.")
    return f"{counts} {N_(f'It came from {sources(origins)}.')}"


def described(call: ToolCall, found: Sequence[Effect]) -> str:
    """What a proposal is: what it would do, and the whole call, which is what is accepted."""
    return f"{call.name} to {effects(found)}: {shorten_middle(literal(call), MAX_CALL_CHARS)}"


def literal(call: ToolCall) -> str:
    """A call as it would be made, with whatever could disguise it on a screen made visible."""
    command = call.arguments.get("command")
    only = isinstance(command, str) and set(call.arguments) <= {"command", "timeout"}
    return spell_out(str(command) if only else _pretty(call.arguments))


def _pretty(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, indent=1)


def _short(text: str) -> str:
    return on_one_line(text, MAX_LINE_CHARS)
