"""What is wanted, what the rivals have, and the table beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prompt_measure import GAP, Session, Situation

HERMES_INPUT, NANOBOT_INPUT = 406_708, 192_391
"""Tokens of input of the like session without skills, measured on such a server."""
BACK = Situation()
GAPS = Situation(gap=GAP)
PROCESSES = Situation(processes=True)
PROCESS_GAPS = Situation(gap=GAP, processes=True)
SKILLS = Situation(skills=True)
SKILL_GAPS = Situation(gap=GAP, skills=True)
HERMES_COST = {
    situation: share * HERMES_INPUT
    for situation, share in ((BACK, 0.156), (GAPS, 0.564), (PROCESSES, 0.21))
}
"""What Hermes pays for its input, in fresh tokens."""
NAMES: Mapping[Situation, str] = {
    BACK: "back to back",
    GAPS: f"{GAP:.0f} s between turns",
    PROCESSES: "a process a turn",
    PROCESS_GAPS: f"a process a turn, {GAP:.0f} s between",
    SKILLS: "skills, back to back",
    SKILL_GAPS: f"skills, {GAP:.0f} s between turns",
}


@dataclass(frozen=True)
class Line:
    """One value in one situation. ``limit`` is the best wanted value; ``bound`` what no placement
    of markers can pass; ``hermes`` and ``nanobot`` are texts."""

    what: str
    situation: Situation
    value: Callable[[Session], float]
    limit: float | None = None
    more: bool = False
    bound: Callable[[Session], float] | None = None
    hermes: str = ""
    nanobot: str = ""

    def met(self, session: Session) -> str:
        """``yes``, ``no``, or nothing where nothing is wanted."""
        if self.limit is None:
            return ""
        value = self.value(session)
        return "yes" if (value >= self.limit if self.more else value <= self.limit) else "no"

    @property
    def wanted(self) -> str:
        """The wanted value with its sign."""
        if self.limit is None:
            return ""
        return f"{'≥' if self.more else '≤'} {_text(self.limit)}"


def _input(session: Session) -> float:
    return session.input


def _cost(session: Session) -> float:
    return session.cost


def _share(session: Session) -> float:
    return session.read / session.input


def _best_share(session: Session) -> float:
    return session.limit / session.input


def _of_best(session: Session) -> float:
    return session.read / session.placed


def _of_uncached(session: Session) -> float:
    return session.cost / session.input


def _floor(session: Session) -> float:
    return session.floor / session.input


def _later(session: Session) -> float:
    return session.later_turns


def _dearest(session: Session) -> float:
    return session.later_turn


def _lines() -> Iterator[Line]:
    first = "system prompt and tools, tokens"
    yield Line(first, BACK, lambda session: session.stable, 3000)
    total = "input, tokens"
    rivals = {"hermes": f"{HERMES_INPUT:,}", "nanobot": f"{NANOBOT_INPUT:,}"}
    yield Line(total, BACK, _input, 100_000, **rivals)
    yield Line(total, SKILLS, _input, 0.40 * HERMES_INPUT)
    for situation in NAMES:
        yield Line("read, of the best placement", situation, _of_best, 0.99, more=True)
    share = "read, of all input"
    yield Line(share, BACK, _share, bound=_best_share, hermes="0.954", nanobot="0.954")
    yield Line(share, GAPS, _share, bound=_best_share, hermes="0.598", nanobot="0.597")
    yield Line(share, PROCESSES, _share, bound=_best_share, hermes="0.907")
    yield Line(share, SKILLS, _share, 0.90, more=True, bound=_best_share)
    yield Line(share, SKILL_GAPS, _share, bound=_best_share)
    cost = "cost, of uncached"
    yield Line(cost, BACK, _of_uncached, 0.17, bound=_floor, hermes="0.156", nanobot="0.159")
    yield Line(cost, GAPS, _of_uncached, 0.25, bound=_floor, hermes="0.564", nanobot="0.565")
    yield Line(cost, PROCESSES, _of_uncached, 0.17, bound=_floor, hermes="0.21")
    yield Line(cost, PROCESS_GAPS, _of_uncached, 0.25, bound=_floor)
    yield Line(cost, SKILLS, _of_uncached, 0.17, bound=_floor)
    yield Line(cost, SKILL_GAPS, _of_uncached, 0.25, bound=_floor)
    paid = "cost, in fresh tokens"
    quick, slow = 0.30 * HERMES_COST[BACK], 0.15 * HERMES_COST[GAPS]
    for situation, most in ((BACK, quick), (PROCESSES, quick), (GAPS, slow), (PROCESS_GAPS, slow)):
        theirs = HERMES_COST.get(situation)
        yield Line(paid, situation, _cost, most, hermes=f"{theirs:,.0f}" if theirs else "")
    later = "turns after the second, of uncached"
    for situation in NAMES:
        yield Line(later, situation, _later, 0.20)
    for situation in NAMES:
        yield Line("the dearest of them", situation, _dearest)


LINES: Sequence[Line] = tuple(_lines())
Sessions = Mapping[Situation, Session]


def rows(sizes: Sequence[Sessions]) -> list[tuple[str, ...]]:
    """The table, its head first. ``sizes`` are the sessions by size of the stable tier."""
    head = ["what", "situation"]
    for sessions in sizes:
        head += [f"stable tier of {sessions[BACK].stable}", "met", "bound"]
    table = [(*head, "wanted", "Hermes", "nanobot")]
    for line in LINES:
        cells = [line.what, NAMES[line.situation]]
        for sessions in sizes:
            session = sessions[line.situation]
            bound = _text(line.bound(session)) if line.bound else ""
            cells += [_text(line.value(session)), line.met(session), bound]
        table.append((*cells, line.wanted, line.hermes, line.nanobot))
    return table


def markdown(table: Sequence[Sequence[str]]) -> str:
    """The table for the documentation."""
    lines = [table[0], ["---"] * len(table[0]), *table[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def columns(table: Sequence[Sequence[str]]) -> str:
    """The table for a terminal."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(_padded(line, widths) for line in table)


def _padded(line: Iterable[str], widths: Sequence[int]) -> str:
    cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
    return "  ".join(cells).rstrip()


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.3f}"
