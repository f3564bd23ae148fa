"""``/grants``: the list, and what is written after the command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import on_one_line

from .grants import Grant

_REVOKE = re.compile(r"revoke\s+([0-9]{1,9})", re.IGNORECASE)
MAX_LINE_CHARS = 100
"""Characters shown of a granted call."""


def parse_revoke(args: str) -> int | None:
    """The number to revoke, or None."""
    match = _REVOKE.fullmatch(args.strip())
    return int(match[1]) if match else None


def grant_list(grants: Sequence[Grant]) -> str:
    """The grants, one a line."""
    if not grants:
        return N_("No grants: every risky call is asked for.")
    lines = [_line(grant) for grant in grants]
    head = N_("Allowed without asking again:")
    return "\n".join([head, *lines, N_("/grants revoke N takes one back.")])


def _line(grant: Grant) -> str:
    day = datetime.fromtimestamp(grant.granted, UTC).date()
    shown = on_one_line(grant.shown, MAX_LINE_CHARS)
    who = f"{grant.channel}:{grant.person}"
    return f"{grant.number}. {grant.tool} · {grant.choice} · {who} · {day} · {shown}"
