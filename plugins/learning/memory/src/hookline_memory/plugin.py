"""The plugin: adds memory to the prompt and changes it for the model and the person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    Check,
    Content,
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

from .change_log import ChangeSource
from .changes import MemoryChanges
from .config import MemoryConfig
from .errors import InvalidOperation, NotesFull
from .facts import FactStore
from .note_paths import NotePaths
from .operations import DESCRIPTION, PARAMETERS, RecallQuery, parse
from .origins import note_key
from .reader import MemoryReader
from .recall import FactRecall

if TYPE_CHECKING:
    from .memory_rows import MemoryRows
    from .slash_commands import MemoryCommand
    from .turn_view import TurnMemoryView

EXPIRE_INTERVAL = 3600.0
"""Seconds between two runs of the job that deletes expired facts and log entries."""
REVIEW_AFTER_MESSAGES = 10
"""Messages of a person after which a session is reviewed."""
REVIEW_AT_END_FROM = 3
"""Messages from which a session is reviewed at its end."""
MAX_FULL_FAILURES = 3
"""Calls of one turn that may fail because the notes are full; the next failure is final."""
SUBAGENT_REFUSAL = "a sub-agent cannot change memory; say in your result what is worth remembering"


class NotesBudget:
    """Counts the calls of a turn that failed because the notes are full."""

    def __init__(self) -> None:
        self.failures = 0


class Memory(Plugin[MemoryConfig]):
    "Remembers: notes in every prompt, and facts recalled when relevant."

    _turn_view: TurnMemoryView | None = None

    def __init__(self, config: MemoryConfig, host: Host) -> None:
        super().__init__(config, host)
        self.note_paths = NotePaths(host.home)
        self.facts = FactStore(host)
        self.changes = MemoryChanges(host, config, self.note_paths, self.facts)
        self._reader = MemoryReader(config.notes_max_chars)
        self._recall = FactRecall(config, self.facts, self._reader)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the importer of notes and facts, and the corpus for semantic search."""
        host.services.add(Importer, LateImporter(frozenset({"note", "fact"}), self._importer))
        host.services.add(SearchableCorpus, self.facts)

    def _importer(self) -> Importer:
        from .importer import MemoryImporter

        return MemoryImporter(self.host, self.config, self.note_paths, self.facts, self.changes)

    # Prompt

    @hookimpl
    async def system_prompt(self, ctx: Context, session: Session) -> list[Section] | None:
        """Return the guidance and the current notes; None for a sub-agent."""
        if session.kind == "agent" or session.parent_id is not None:
            return None
        sections = [Section("guidance", _text("guidance.md"))]
        for file in self.note_paths.readable(Chat.of(session)):
            own = file.name != self.note_paths.global_notes.name
            try:
                heading = "Notes of this chat" if own else "Notes"
                section = await self._reader.section(ctx, file, heading, self.facts.note_origins)
            except InvalidOperation as error:
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
        return await self._recall.context_block(ctx, turn.inbound.text)

    # The tool

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register the tool ``memory``."""
        kept = {"content": Content(), "operations": Content()}
        tool = Tool(
            "memory",
            DESCRIPTION,
            self._memory,
            parameters=PARAMETERS,
            origin="workspace",
            effects=_effects,
            sinks=kept,
        )
        register(tool)

    async def _memory(self, /, ctx: Context, **arguments: Any) -> ToolOutput:
        """Run one call of the tool; an error becomes a result that says what to do."""
        try:
            parsed = parse(arguments)
            if isinstance(parsed, RecallQuery):
                return await self._recall.answer(ctx, parsed.query)
            if ctx.session.kind == "agent":
                raise InvalidOperation(SUBAGENT_REFUSAL)
            source = await ChangeSource.of(ctx)
            done = await self.changes.apply(ctx, source, parsed)
            lines, origins = await self._recall.lines(ctx, done.contradicted)
            text = "\n".join([done.text, *lines])
            return ToolOutput(text, data=list(done.changes), origins=origins)
        except InvalidOperation as error:
            text = f"Error: {await self._advice(ctx, error, arguments)}"
            return ToolOutput(text, ok=False, origins=await self._origins(ctx, error.entries))

    async def _origins(self, ctx: Context, entries: Sequence[str]) -> tuple[Origin, ...]:
        """The origins of the entries that an error lists."""
        if not entries:
            return ()
        chat, shown = Chat.of(ctx.session), set(entries)
        found = [fact.origins for fact in await self.facts.of_chat(chat) if fact.content in shown]
        for file in self.note_paths.readable(chat):
            notes = await self.facts.note_origins(file.name)
            found += [notes.get(note_key(entry), ()) for entry in shown]
        return merge_origins(*found)

    async def _advice(
        self, ctx: Context, error: InvalidOperation, arguments: dict[str, Any]
    ) -> str:
        """Return the error for the model; the last one about full notes is final."""
        if isinstance(error, NotesFull):
            budget = ctx.stash.of(NotesBudget)
            budget.failures += 1
            if budget.failures > MAX_FULL_FAILURES:
                return (
                    "the notes are full and were not changed. This is final for this turn: do not "
                    "try again, continue with the task."
                )
        advice = await self._reader.format_error(ctx, error)
        if "operations" in arguments:
            return f"Nothing was changed: {advice}"
        return advice

    # Commands, pages and checks

    @command("/memory", audience="everyone", category="Knowledge")
    async def slash_memory(self, ctx: Context, args: str) -> str:
        """Show this chat's notes and facts; /memory forget TEXT or #N."""
        return await self._slash().run(ctx, args)

    def _slash(self) -> MemoryCommand:
        from .slash_commands import MemoryCommand

        return MemoryCommand(self.note_paths, self.facts, self.changes, self.config)

    def rows(self) -> MemoryRows:
        """Everything remembered and the log, as rows for commands and pages."""
        from .memory_rows import MemoryRows

        return MemoryRows(self.host, self.note_paths, self.facts, self.changes)

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the pages, and show in the page of a turn what was learned from it."""
        from hookline_hookspecs.web import TurnViews

        from .pages import MemoryPages
        from .turn_view import TurnMemoryView

        if self._turn_view is None:  # routes are registered more than once
            self._turn_view = TurnMemoryView(self.host)
            self.host.services.add(TurnViews, self._turn_view)

        MemoryPages(self.host, self.rows(), self.changes).register(register)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check that the notes can be read."""
        from .doctor_checks import notes_check

        register(Check("notes", lambda: notes_check(self.note_paths, self.config.notes_max_chars)))

    # In the background

    @hookimpl
    def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
        """Register the reviewer that saves what is worth remembering."""
        register(
            Reviewer(
                "memory",
                _text("review.md"),
                ("memory",),
                turns=REVIEW_AFTER_MESSAGES,
                at_end=REVIEW_AT_END_FROM,
            )
        )

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that deletes expired facts and log entries."""
        register(Job("expire", self._expire, EXPIRE_INTERVAL, at_start=True))

    async def _expire(self) -> None:
        await self.changes.expire(self.config.log_days)


@cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()


def _effects(ctx: Context, call: ToolCall) -> tuple[Effect, ...]:
    """Every action except recall changes memory."""
    return () if call.arguments.get("action") == "recall" else (Effect("learn", "memory"),)
