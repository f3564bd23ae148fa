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

from .config import ContextFilesConfig
from .document import Document, Shares
from .opening import Opener
from .sharing import share
from .sources import Finder

INTRODUCTION = "# Context files\nKept by the person or the project; follow what fits the task."
KIND = "context"
"""The kind under which the files pass the gate ``pre_read``."""


@dataclass(frozen=True, slots=True)
class Found:
    """The files read for a session. ``complaints`` are sentences for the person, ``project`` the
    paths of the project's files."""

    soul: Document | None
    files: Sequence[Document]
    complaints: Sequence[str]
    project: Sequence[Path]


class ContextFiles(Plugin[ContextFilesConfig]):
    """Puts ``SOUL.md``, the project's file and the chat's files into the stable prompt."""

    def __init__(self, config: ContextFilesConfig, host: Host) -> None:
        super().__init__(config, host)
        self._known: FileCache[tuple[Path, str, str], Found] = FileCache()

    @hookimpl
    async def system_prompt(self, ctx: Context, session: Session) -> list[Section] | None:
        """Return the sections; none for a sub-agent, which gets only its task."""
        if session.kind == "agent" or session.parent_id is not None:
            return None
        found = await self._found(ctx, session)
        ctx.stash.session["project"] = found.project  # for the first turn, which begins now
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
            project = (await self._found(ctx, session)).project
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
            fix = "Mend or remove what is named; a link's target may need paths.allowed_roots."
            return CheckResult(False, " ".join(found.complaints), fix)
        count = len(found.files) + (found.soul is not None)
        told = f"{count or 'no'} context file{'' if count == 1 else 's'} for the terminal"
        return CheckResult(True, f"{told}, all readable" if count else told)

    async def _found(self, ctx: Context, session: Session) -> Found:
        """Return a session's files, read in a thread unless all are as they were."""
        key = ctx.paths.workspace, session.channel, session.chat_id
        known = self._known.get(key)
        if known is not None:
            return known
        found, watch = await asyncio.to_thread(self._find, ctx.paths, session)
        self._known.put(key, found, watch)
        return found

    def _find(self, paths: Paths, session: Session) -> tuple[Found, Watch]:
        home, watch = self.host.home, Watch()
        souls = Finder(Opener(paths, self.config.soul_max_chars, watch))
        others = Finder(Opener(paths, self.config.context_max_chars, watch))
        soul = souls.soul(home)
        project = others.project(paths.workspace)
        opened = tuple(others.opener.opened)
        files = project + others.kept(home, session)
        return Found(soul, files, souls.complaints + others.complaints, opened), watch

    async def _identity(
        self, ctx: Context, soul: Document | None
    ) -> tuple[list[Section], list[str]]:
        """Return the section of ``SOUL.md``, and a complaint if it was refused."""
        if soul is None:
            return [], []
        most = self.config.soul_max_chars
        try:
            passed = await self._passed(ctx, soul, most, most)
        except Refused as error:
            return [], [_blocked(soul, error)]
        return [Section("identity", passed.cut(most, self._shares))], []

    async def _texts(self, ctx: Context, files: Sequence[Document]) -> list[str]:
        """Return the files under their headings; only the characters of the files are counted."""
        budget = self.config.context_max_chars
        passed = []
        for file, room in zip(files, share([f.length for f in files], budget), strict=False):
            try:
                passed.append(await self._passed(ctx, file, room, budget))
            except Refused as error:
                passed.append(Document.of(file.label, _blocked(file, error), budget))
        # Shared again, because a gate may have made the text longer.
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

    async def _passed(self, ctx: Context, file: Document, room: int, most: int) -> Document:
        """``file``, cut to ``room``, after the gate; at most ``most`` characters of it will be
        shown. Raises ``Refused``."""
        text = await ctx.read(file.cut(room, self._shares), file.label, KIND)
        return Document.of(file.label, text.strip(), most)


def _blocked(file: Document, error: Refused) -> str:
    return f"[{file.label} is blocked: {' '.join(str(error).split())}]"
