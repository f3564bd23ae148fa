"""The plugin: the files become the sections ``identity`` and ``context``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    ContextBlock,
    Host,
    Paths,
    Plugin,
    Refused,
    Section,
    Session,
    Turn,
    hookimpl,
)
from hookline_hookspecs.caching import FileCache, Watch
from hookline_hookspecs.file_origins import origins_of

from .character_budget import share
from .config import ContextFilesConfig
from .document import Document, Shares
from .file_finder import FileFinder
from .file_reader import FileReader

INTRODUCTION = "# Context files\nKept by the person or the project; follow what fits the task."
KIND = "context"
"""The kind of the files for the guard ``pre_read``."""


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The files of a session. ``complaints`` are sentences for the person, ``project`` are the
    paths of the project's files."""

    soul: Document | None
    files: Sequence[Document]
    complaints: Sequence[str]
    project: Sequence[Path]


class ContextFiles(Plugin[ContextFilesConfig]):
    """Puts ``SOUL.md``, the project's file and the chat's files into the stable prompt."""

    def __init__(self, config: ContextFilesConfig, host: Host) -> None:
        super().__init__(config, host)
        self._cache: FileCache[tuple[Path, str, str], SessionFiles] = FileCache()

    @hookimpl
    async def system_prompt(self, ctx: Context, session: Session) -> list[Section] | None:
        """Return the sections; none for a sub-agent, which gets only its task."""
        if session.kind == "agent" or session.parent_id is not None:
            return None
        found = await self._session_files(ctx, session)
        ctx.stash.session["project"] = found.project  # for pre_prompt of the first turn
        for complaint in found.complaints:
            ctx.notify(complaint)
        sections, blocked = await self._identity(ctx, found.soul)
        texts = [*blocked, *await self._texts(ctx, found.files)]
        if texts:
            sections.append(Section("context", "\n\n".join([INTRODUCTION, *texts])))
        return sections

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Return an empty block with the origins of the project's files, once in a session."""
        session = turn.session
        if ctx.history or session.kind == "agent" or session.parent_id is not None:
            return None
        project = ctx.stash.session.pop("project", None)
        if project is None:
            project = (await self._session_files(ctx, session)).project
        origins = await origins_of(self.host, project) if project else ()
        return ContextBlock("project", origins=origins) if origins else None

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check the files that a new session in the terminal would get."""
        register(Check("context files", self._check))

    def _check(self) -> CheckResult:
        terminal = Session("", "terminal", "default", None, 0.0)
        found, _ = self._find(self.host.paths, terminal)
        if found.complaints:
            fix = "Fix or remove these files; a link's target may need paths.allowed_roots."
            return CheckResult(False, " ".join(found.complaints), fix)
        count = len(found.files) + (found.soul is not None)
        detail = f"{count or 'no'} context file{'' if count == 1 else 's'} for the terminal"
        return CheckResult(True, f"{detail}, all readable" if count else detail)

    async def _session_files(self, ctx: Context, session: Session) -> SessionFiles:
        """Return a session's files, from the cache if none has changed."""
        key = ctx.paths.workspace, session.channel, session.chat_id
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        found, watch = await asyncio.to_thread(self._find, ctx.paths, session)
        self._cache.put(key, found, watch)
        return found

    def _find(self, paths: Paths, session: Session) -> tuple[SessionFiles, Watch]:
        home, watch = self.host.home, Watch()
        souls = FileFinder(FileReader(paths, self.config.soul_max_chars, watch))
        others = FileFinder(FileReader(paths, self.config.context_max_chars, watch))
        soul = souls.soul(home)
        project = others.project(paths.workspace)
        opened = tuple(others.reader.opened)
        files = project + others.personal_files(home, session)
        return SessionFiles(soul, files, souls.complaints + others.complaints, opened), watch

    async def _identity(
        self, ctx: Context, soul: Document | None
    ) -> tuple[list[Section], list[str]]:
        """Return the section of ``SOUL.md``, and a complaint if it was refused."""
        if soul is None:
            return [], []
        max_chars = self.config.soul_max_chars
        try:
            passed = await self._read_through_gate(ctx, soul, max_chars, max_chars)
        except Refused as error:
            return [], [_blocked(soul, error)]
        return [Section("identity", passed.cut(max_chars, self._shares))], []

    async def _texts(self, ctx: Context, files: Sequence[Document]) -> list[str]:
        """Return the files under their headings; only the characters of the files are counted."""
        budget = self.config.context_max_chars
        passed = []
        rooms = share([file.length for file in files], budget)
        for cut in _cuts(files, rooms):
            ctx.notify(cut)
        for file, room in zip(files, rooms, strict=False):
            try:
                passed.append(await self._read_through_gate(ctx, file, room, budget))
            except Refused as error:
                passed.append(Document.of(file.label, _blocked(file, error), budget))
        # Divided again, because a guard may have changed the lengths.
        rooms = share([file.length for file in passed], budget)
        texts = [
            f"## {file.label}\n{file.cut(room, self._shares)}"
            for file, room in zip(passed, rooms, strict=False)
            if file.length
        ]
        if left_out := len(files) - len(rooms):
            texts.append(f"[… {left_out} more files left out …]")
        return texts

    @property
    def _shares(self) -> Shares:
        return Shares(self.config.head_share, self.config.tail_share)

    async def _read_through_gate(
        self, ctx: Context, file: Document, room: int, max_chars: int
    ) -> Document:
        """Cut ``file`` to ``room`` and pass it through ``pre_read``; at most ``max_chars``
        characters will be shown. Raises ``Refused``."""
        text = await ctx.read(file.cut(room, self._shares), file.label, KIND)
        return Document.of(file.label, text.strip(), max_chars)


def _cuts(files: Sequence[Document], rooms: Sequence[int]) -> list[str]:
    """Sentences for the person about files that do not fit."""
    advice = "Shorten it, or raise context_max_chars of the plugin context-files."
    cuts = [
        f"{file.label} has {file.length} characters; the model gets {room} of them. {advice}"
        for file, room in zip(files, rooms, strict=False)
        if room < file.length
    ]
    if left_out := [file.label for file in files[len(rooms) :]]:
        cuts.append(f"There is no room for {', '.join(left_out)} in the prompt. {advice}")
    return cuts


def _blocked(file: Document, error: Refused) -> str:
    return f"[{file.label} is blocked: {' '.join(str(error).split())}]"
