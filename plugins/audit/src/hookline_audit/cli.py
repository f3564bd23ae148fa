"""``hookline audit``, as Typer reads it."""

from __future__ import annotations

import json as jsonlib
import re
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from hookline_auditkit import KINDS

from .reading import Entry, shown_detail

if TYPE_CHECKING:
    from .service import Service

BROKEN, USAGE = 1, 2
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
Json = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]
Since = Annotated[
    str, typer.Option(help="A day or time (2026-11-24T08:00), or how long ago: 90m, 12h, 7d.")
]


class Cli:
    """The commands."""

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service

    def app(self) -> typer.Typer:
        """Return ``show verify export``."""
        app = typer.Typer(no_args_is_help=True)
        app.command()(self.show)
        app.command()(self.verify)
        return app

    async def show(
        self,
        kind: Annotated[str, typer.Option(help=f"One of {' '.join(KINDS)}.")] = "",
        since: Since = "",
        json: Json = False,
    ) -> None:
        """Show who did what, oldest first; without --since the last 100 rows."""
        if kind and kind not in KINDS:
            _usage(f"--kind: there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
        begin = read_since(since, time.time())
        service = self._service()
        reader = await service.reader()
        if begin is None:
            entries = list(reversed(await reader.newest(100, kind)))
            for entry in entries:
                _say(_line(entry, json=json))
            return
        kinds = frozenset({kind}) if kind else frozenset()
        async for entry in reader.since(begin, 1e10, kinds):
            _say(_line(entry, json=json))

    async def verify(self, json: Json = False) -> None:
        """Check every row and every checkpoint; exits 1 and names the first row that is broken."""
        found = await self._service().verify()
        if json:
            _say(jsonlib.dumps(found.as_dict()))
        elif found.ok:
            erased = f", {found.erased} of them of chats that were erased" if found.erased else ""
            _say(
                f"All {found.rows:,} rows are as they were written{erased}; "
                f"{found.checkpoints:,} checkpoints fit."
            )
        else:
            _say(f"Broken: {found.broken}.")
        if not found.ok:
            raise SystemExit(BROKEN)


def read_since(text: str, now: float) -> float | None:
    """Return the time that a person wrote, Unix seconds; None for an empty text. Exits 2."""
    if not text:
        return None
    if found := re.fullmatch(r"(\d{1,6})([smhdw])", text):
        return now - int(found[1]) * _SPANS[found[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        _usage(f"--since: {text!r} is no time; write 2026-11-24, 2026-11-24T08:00, 90m, 12h or 7d")


def _line(entry: Entry, *, json: bool) -> str:
    told = entry.as_dict()
    if json:
        return jsonlib.dumps(told)
    parts = [
        told["at"][:23].replace("T", " "),
        told["actor"] or "-",
        told["kind"],
        told["object"],
        told["verdict"],
    ]
    if told["approver"]:
        parts.append(f"by {told['approver']}")
    if entry.state != "ok":
        parts.append(f"({entry.state})")
    parts.append(shown_detail(told["detail"]))
    return "  ".join(_plain(part) for part in parts if part)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _say(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _usage(text: str) -> NoReturn:
    sys.stderr.write(f"hookline: {text}\n")
    raise SystemExit(USAGE)
