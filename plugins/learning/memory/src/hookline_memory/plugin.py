"""The plugin: adds memory to the prompt and changes it for the model and the person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    Check,
    Context,
    ContextBlock,
    Effect,
    Host,
    Job,
    Origin,
    Plugin,
    Reviewer,
    Route,
    SearchableCorpus,
    Section,
    Session,
    Tool,
    ToolCall,
    ToolOutput,
    Turn,
    command,
    hookimpl,
    merge_origins,
)
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.importers import Importer, LateImporter

from .changes import Changes
from .config import MemoryConfig
from .facts import Facts
from .log import Source
from .notechanges import Full
from .operations import DESCRIPTION, PARAMETERS, Recall, parse
from .origins import note_key
from .places import Places
from .reading import Reader
from .recall import Recall as Recaller
from .wording import Complaint

if TYPE_CHECKING:
    from .learnt import Learnt
    from .rows import Rows
    from .slash import Slash

EVERY = 3600.0
"""Seconds between two deletions of what has expired."""
TURNS, AT_END = 10, 3
"""Messages of a person after which memory is reviewed, and the fewest at the end of a session."""
FAILURES = 3
"""Calls of one turn that may fail because the notes are full; the next failure is final."""
NOT_HERE = "a sub-agent cannot change memory; say in your result what is worth remembering"


class Fullness:
    """How many calls of a turn failed because the notes are full."""

    def __init__(self) -> None:
        self.times = 0


class Memory(Plugin[MemoryConfig]):
    """Notes that are in every prompt, and facts that are recalled when they are relevant."""

    _learnt: Learnt | None = None

    def __init__(self, config: MemoryConfig, host: Host) -> None:
        super().__init__(config, host)
        self.places = Places(host.home)
        self.facts = Facts(host)
        self.changes = Changes(host, config, self.places, self.facts)
        self._reader = Reader(config.notes_max_chars)
        self._recall = Recaller(config, self.facts, self._reader)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer to take in what another program remembers; let facts be compared by meaning."""
        host.services.add(Importer, LateImporter(frozenset({"note", "fact"}), self._importer))
        host.services.add(SearchableCorpus, self.facts)

    def _importer(self) -> Importer:
        from .imports import MemoryImporter

        return MemoryImporter(self.host, self.config, self.places, self.facts, self.changes)

    # What a session is told

    @hookimpl
    async def system_prompt(self, ctx: Context, session: Session) -> list[Section] | None:
        """Return the guidance and the current notes; nothing for a sub-agent."""
        if session.kind == "agent" or session.parent_id is not None:
            return None
        sections = [Section("guidance", _text("guidance.md"))]
        for file in self.places.seen(Chat.of(session)):
            own = file.name != self.places.everywhere.name
            try:
                heading = "Notes of this chat" if own else "Notes"
                section = await self._reader.section(ctx, file, heading, self.facts.of_notes)
            except Complaint as error:
                ctx.notify(f"{error}.")
                continue
            if section is not None:
                sections.append(Section("memory", section))
        return sections

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Return the facts that match the person's message."""
        if ctx.session.kind != "chat" or not self.config.recall_limit:
            return None
        return await self._recall.block(ctx, turn.inbound.text)

    # The tool

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """The tool ``memory``."""
        options: Any = {"parameters": PARAMETERS, "origin": "workspace", "effects": _effects}
        register(Tool("memory", DESCRIPTION, self._memory, **options))

    async def _memory(self, /, ctx: Context, **arguments: Any) -> ToolOutput:
        """Run one call of the tool; an error becomes a result that says what to do."""
        try:
            asked = parse(arguments)
            if isinstance(asked, Recall):
                return await self._recall.answer(ctx, asked.query)
            if ctx.session.kind == "agent":
                raise Complaint(NOT_HERE)
            source = await Source.of(ctx)
            text, changes = await self.changes.make(ctx, source, asked)
            return ToolOutput(text, data=list(changes))
        except Complaint as error:
            text = f"Error: {await self._advice(ctx, error, arguments)}"
            return ToolOutput(text, ok=False, origins=await self._origins(ctx, error.entries))

    async def _origins(self, ctx: Context, entries: Sequence[str]) -> tuple[Origin, ...]:
        """Where the entries that a complaint shows came from."""
        if not entries:
            return ()
        chat, shown = Chat.of(ctx.session), set(entries)
        found = [one.origins for one in await self.facts.of_chat(chat) if one.content in shown]
        for file in self.places.seen(chat):
            notes = await self.facts.of_notes(file.name)
            found += [notes.get(note_key(entry), ()) for entry in shown]
        return merge_origins(*found)

    async def _advice(self, ctx: Context, error: Complaint, arguments: dict[str, Any]) -> str:
        """Return the complaint as the model reads it; the last one about full notes is final."""
        if isinstance(error, Full):
            fullness = ctx.stash.of(Fullness)
            fullness.times += 1
            if fullness.times > FAILURES:
                return (
                    "the notes are full and stay as they are. This is final for this turn: do not "
                    "try again, go on with the task."
                )
        advice = await self._reader.complaint(ctx, error)
        if "operations" in arguments:
            return f"Nothing was changed: {advice}"
        return advice

    # What a person does

    @command("/memory", audience="everyone", category="Knowledge")
    async def slash_memory(self, ctx: Context, args: str) -> str:
        """Show the notes and facts of this chat; /memory forget TEXT or #N."""
        return await self._slash().run(ctx, args)

    def _slash(self) -> Slash:
        from .slash import Slash

        return Slash(self.places, self.facts, self.changes, self.config)

    def rows(self) -> Rows:
        """What is remembered and logged, as rows."""
        from .rows import Rows

        return Rows(self.host, self.places, self.facts, self.changes)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the page of the memory, and show in turns what was learnt from them."""
        from hookline_hookspecs.web import TurnViews

        from .learnt import Learnt
        from .pages import MemoryPages

        if self._learnt is None:  # routes are asked for again and again
            self._learnt = Learnt(self.host)
            self.host.services.add(TurnViews, self._learnt)

        MemoryPages(self.host, self.rows(), self.changes).register(register)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check that the notes can be read."""
        from .checks import notes_check

        register(Check("notes", lambda: notes_check(self.places, self.config.notes_max_chars)))

    # In the background

    @hookimpl
    def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
        """Register the reviewer that looks for what is worth remembering."""
        register(Reviewer("memory", _text("review.md"), ("memory",), turns=TURNS, at_end=AT_END))

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Delete what has expired."""
        register(Job("expire", self._expire, EVERY, at_start=True))

    async def _expire(self) -> None:
        await self.changes.expire(self.config.log_days)


@cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()


def _effects(ctx: Context, call: ToolCall) -> tuple[Effect, ...]:
    """Everything but a question to the memory lasts."""
    return () if call.arguments.get("action") == "recall" else (Effect("learn", "memory"),)
