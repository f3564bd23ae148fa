"""The table of outcomes: for each effect of a call, and the worst source of what decides it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from hookline_hookspecs import EffectKind

from .known_values import SOURCES, Source

Outcome: TypeAlias = Literal["pass", "ask"]

_ROWS = """
effect        named  mentioned  earlier  trusted  pointed  outside  composed
read          pass   pass       pass     pass     pass     pass     pass
network       pass   pass       pass     pass     pass     pass     ask
write         pass   pass       pass     pass     pass     ask      pass
send          pass   pass       pass     pass     ask      ask      ask
book          pass   pass       pass     ask      ask      ask      ask
pay           pass   pass       ask      ask      ask      ask      ask
delete        pass   ask        ask      ask      ask      ask      ask
grant_access  pass   pass       ask      ask      ask      ask      ask
credential    pass   pass       ask      ask      ask      ask      ask
learn         pass   pass       ask      ask      ask      ask      ask
schedule      pass   pass       ask      ask      ask      ask      ask
configure     ask    ask        ask      ask      ask      ask      ask
execute       pass   pass       pass     pass     ask      ask      pass
unknown       ask    ask        ask      ask      ask      ask      ask
content       pass   pass       pass     pass     ask      ask      ask
"""
"""What happens in a conversation that has read from outside. ``content`` is what others will read
or what is kept: the addresses, links and account numbers in it."""


def _parsed(rows: str) -> Mapping[str, Mapping[Source, Outcome]]:
    head, *lines = (line.split() for line in rows.strip().splitlines())
    assert tuple(head[1:]) == SOURCES
    return {
        line[0]: {source: _outcome(cell) for source, cell in zip(SOURCES, line[1:], strict=True)}
        for line in lines
    }


def _outcome(cell: str) -> Outcome:
    return "pass" if cell == "pass" else "ask"


OUTCOMES = _parsed(_ROWS)
MEANINGS: Mapping[Source, str] = {
    "named": "the person wrote it in this turn, or `trust` names it",
    "mentioned": "the person wrote it in this turn, but did not ask to delete anything",
    "earlier": "the person wrote it earlier in the conversation",
    "trusted": "read in own data: contacts, directories, files of the workspace that no marked "
    "conversation wrote",
    "pointed": "read in a page, file or message from outside that the person named in this turn",
    "outside": "read elsewhere from outside",
    "composed": "written nowhere: the model made it",
}


def outcome(effect: EffectKind | Literal["content"], source: Source) -> Outcome:
    """What a value from ``source`` means for an effect; what the table does not hold asks."""
    return OUTCOMES.get(effect, {}).get(source, "ask")
