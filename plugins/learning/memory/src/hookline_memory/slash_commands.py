"""The slash command ``/memory``: shows a chat's memory and deletes entries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from hookline_hookspecs import Context, Origin
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.sentences import N_

from .change_log import ChangeSource
from .changes import MemoryChanges
from .config import MemoryConfig
from .errors import InvalidOperation, NoMatch
from .fact import Fact
from .facts import FactStore
from .note_file import NoteFile
from .note_paths import NotePaths
from .operations import Operation
from .origins import author_note, load_note_origins, note_key
from .text import format_usage, one_line

HELP = N_("Usage: /memory lists the entries; /memory forget TEXT or #N deletes one.")
MAX_LISTED_FACTS = 100
"""Facts that are listed, the newest ones."""


class MemoryCommand:
    """Runs the command."""

    def __init__(
        self, note_paths: NotePaths, facts: FactStore, changes: MemoryChanges, config: MemoryConfig
    ) -> None:
        self._note_paths = note_paths
        self._facts = facts
        self._changes = changes
        self._config = config

    async def run(self, ctx: Context, args: str) -> str:
        """Return the reply to ``/memory ARGS``."""
        verb, _, rest = args.strip().partition(" ")
        if not verb:
            return await self._show(ctx)
        if verb.casefold() == "forget" and rest.strip():
            return await self._forget(ctx, rest.strip())
        return HELP

    async def _show(self, ctx: Context) -> str:
        chat = Chat.of(ctx.session)
        files = self._note_paths.writable(chat, ctx.operator)
        origins = {file.name: await load_note_origins(ctx.host, file.name) for file in files}
        notes = await asyncio.to_thread(lambda: list(self._notes(files, origins)))
        facts = await self._facts.of_chat(chat)
        lines = [N_(f"Facts of this chat: {len(facts)}")]
        if len(facts) > MAX_LISTED_FACTS:
            lines[0] += f" · {N_(f'the newest {MAX_LISTED_FACTS}')}"
        lines += [_line(fact) for fact in facts[-MAX_LISTED_FACTS:]]
        return "\n".join([*notes, *lines])

    def _notes(
        self, files: Sequence[NoteFile], origins: Mapping[str, Mapping[str, Sequence[Origin]]]
    ) -> Iterator[str]:
        """Return the notes that may be changed from this chat; it may not see others."""
        for file in reversed(files):
            is_global = file.name == self._note_paths.global_notes.name
            name = N_("Notes for every chat") if is_global else N_("Notes of this chat")
            try:
                notes = file.read().notes
            except InvalidOperation as error:
                yield f"{name}: {error}."
                continue
            yield f"{name} · {format_usage(notes.chars, self._config.notes_max_chars)}"
            for entry in notes.entries:
                from_ = author_note(origins[file.name].get(note_key(entry), ()))
                yield f"- {entry}{from_ and f' [{from_}]'}"

    async def _forget(self, ctx: Context, text: str) -> str:
        """Delete the matching fact or, if there is none, the matching note."""
        source = await ChangeSource.of(ctx)
        for action in ("forget", "remove"):
            operations = [Operation(action, old_text=text)]
            try:
                return (await self._changes.apply(ctx, source, operations)).text
            except NoMatch:
                continue
            except InvalidOperation as error:
                return "\n".join([f"{error}.", *(f"- {one_line(e)}" for e in error.entries)])
        return f"{N_(f'No fact or note contains `{one_line(text, 60)}`.')} {HELP}"


def _line(fact: Fact) -> str:
    from_ = author_note(fact.origins)
    return f"#{fact.id} {fact.line().removeprefix('- ')}{from_ and f' {from_}'}"
