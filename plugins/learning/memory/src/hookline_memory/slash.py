"""``/memory``: shows a chat's memory, and deletes parts of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from hookline_hookspecs import Context, Origin
from hookline_hookspecs.chat_files import Chat

from .changes import Changes
from .config import MemoryConfig
from .fact import Fact
from .facts import Facts
from .log import Source
from .notefile import NoteFile
from .operations import Operation
from .origins import author, note_key, of_notes
from .places import Places
from .wording import Complaint, Missing, one_line, used

HELP = "/memory shows it; /memory forget and a part of the text, or #N of a fact, takes one away."
SHOWN = 100
"""How many facts are listed, the newest ones."""


class Slash:
    """The command's answers."""

    def __init__(
        self, places: Places, facts: Facts, changes: Changes, config: MemoryConfig
    ) -> None:
        self._places = places
        self._facts = facts
        self._changes = changes
        self._config = config

    async def run(self, ctx: Context, args: str) -> str:
        """Return the answer to ``/memory ARGS``."""
        verb, _, rest = args.strip().partition(" ")
        if not verb:
            return await self._show(ctx)
        if verb.casefold() == "forget" and rest.strip():
            return await self._forget(ctx, rest.strip())
        return HELP

    async def _show(self, ctx: Context) -> str:
        chat = Chat.of(ctx.session)
        files = self._places.writable(chat, ctx.operator)
        origins = {file.name: await of_notes(ctx.host, file.name) for file in files}
        notes = await asyncio.to_thread(lambda: list(self._notes(files, origins)))
        facts = await self._facts.of_chat(chat)
        lines = [f"Facts of this chat: {len(facts)}"]
        if len(facts) > SHOWN:
            lines[0] += f", the newest {SHOWN} of them"
        lines += [_line(fact) for fact in facts[-SHOWN:]]
        return "\n".join([*notes, *lines])

    def _notes(
        self, files: Sequence[NoteFile], origins: Mapping[str, Mapping[str, Sequence[Origin]]]
    ) -> Iterator[str]:
        """Return the files that may be changed from here; this chat may not see others."""
        for file in reversed(files):
            everywhere = file.name == self._places.everywhere.name
            name = "Notes for every chat" if everywhere else "Notes of this chat"
            try:
                notes = file.read().notes
            except Complaint as error:
                yield f"{name}: {error}."
                continue
            yield f"{name} [{used(notes.chars, self._config.notes_max_chars)}]"
            for entry in notes.entries:
                from_ = author(origins[file.name].get(note_key(entry), ()))
                yield f"- {entry}{from_ and f' [{from_}]'}"

    async def _forget(self, ctx: Context, wanted: str) -> str:
        """Delete the matching fact or, if there is none, the matching note."""
        source = await Source.of(ctx)
        for action in ("forget", "remove"):
            asked = [Operation(action, old_text=wanted)]
            try:
                return (await self._changes.make(ctx, source, asked))[0]
            except Missing:
                continue
            except Complaint as error:
                return "\n".join([f"{error}.", *(f"- {one_line(e)}" for e in error.entries)])
        return f"Nothing here holds `{one_line(wanted, 60)}`. {HELP}"


def _line(fact: Fact) -> str:
    from_ = author(fact.origins)
    return f"#{fact.id} {fact.line().removeprefix('- ')}{from_ and f' {from_}'}"
