"""The plugin and its six tools: they find the file, call the modules beside, and word the result.

Blocking work runs in threads; what a model is about to read passes the gate ``pre_read``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from hookline_hookspecs import (
    Ask,
    Context,
    Effect,
    Plugin,
    Refused,
    ToolCall,
    ToolError,
    ToolOutput,
    Turn,
    hookimpl,
    tool,
)
from hookline_textmatch import EditError, cut, numbered, replace

from . import asking
from .change import changed
from .complaints import missing, told
from .config import FilesConfig
from .patterns import FilePattern, anywhere, split_base
from .reading import Page, Wanted, read_page
from .search import Found, LineSearch, search
from .seen import Seen
from .tree import Clock, Tree, listing, shown
from .writing import Target

SHOWN_CHARS = 200
"""Characters of a pattern that an answer repeats."""


class Files(Plugin[FilesConfig]):
    """Read, write, edit, list, glob and grep files, within ``ctx.paths``."""

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Files that came with the message may be read, although they lie in Hookline's home."""
        for item in turn.inbound.attachments:
            ctx.paths.give(item.path)

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | None:
        """Ask before a write to what runs by itself or instructs agents; shows the change."""
        if call.name not in asking.WRITERS:
            return None
        return await asyncio.to_thread(asking.question, ctx.paths, call, self.config.max_file_bytes)

    def reads(self, ctx: Context, call: ToolCall) -> list[Effect]:
        """What the tools that look may do."""
        return asking.reads(ctx.paths, call)

    def writes(self, ctx: Context, call: ToolCall) -> list[Effect]:
        """What the tools that write may do."""
        return asking.writes(ctx.paths, call, self.config.max_file_bytes)

    @tool(read_only=True, paged=True, origin="workspace", effects=reads)
    async def read_file(
        self, ctx: Context, path: str, start_line: int | None = None, end_line: int | None = None
    ) -> str:
        """Read a text file, or its lines start_line to end_line. Lines come as number, tab, text.
        A long file comes in parts."""
        config = self.config
        wanted = Wanted(start_line, end_line, config.read_max_lines, config.read_max_chars)
        page = await asyncio.to_thread(self._read, ctx, path, wanted)
        if not page.lines:
            return f"{path} is empty."
        text = await ctx.read(page.text, path)
        answer = numbered(text.split("\n"), page.first)
        if not page.full:
            return answer
        total = "" if page.total is None else f" of {page.total}"
        part = f"lines {page.first}-{page.last}{total} shown"
        return f"{answer}\n[{part}; go on with start_line={page.last + 1}]"

    @tool(origin="workspace", effects=writes)
    def write_file(self, ctx: Context, path: str, content: str) -> str | ToolOutput:
        """Create a text file with its folders, or replace a whole one; edit_file changes parts."""
        with told("write", path):
            real = self._writable(ctx, ctx.paths.resolve(path), path)
            target = Target.at(ctx.paths, real, path, self.config.max_file_bytes)
            warning = self._warning(ctx, real, path, target)
            if target.holds(content):
                return f"{path} already has exactly this content."
            outcome = target.write(content)
        Seen.of(ctx).note(real, outcome.stamp)
        verb = "Created" if target.before is None else "Replaced"
        answer = f"{verb} {path}: {outcome.lines} line(s), {outcome.stamp.size} bytes"
        answer = "\n".join((answer, *warning, *outcome.notes))
        known = target.before is None or target.text is not None
        return changed(answer, path, target.text, content if known else None)

    @tool(origin="workspace", effects=writes)
    def edit_file(
        self, ctx: Context, path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> ToolOutput:
        """Replace old_string by new_string in a text file. old_string has no line numbers and
        stands there once, unless replace_all."""
        with told("edit", path):
            real = self._writable(ctx, self._file(ctx, path), path)
            target = Target.at(ctx.paths, real, path, self.config.max_file_bytes)
            before, text = target.require_text()
            try:
                edited = replace(text, old_string, new_string, replace_all=replace_all, name=path)
            except EditError as error:
                raise ToolError(str(error)) from error
            stamp = target.store(edited.text)
        answer = f"Edited {path}: {edited.count} replacement(s), strategy {edited.strategy}"
        seen = Seen.of(ctx)
        if seen.current(real, before):
            seen.note(real, stamp)
        elif seen.knows(real):
            answer += f"\nNote: {path} had changed on disk since you read it; lines may have moved."
        return changed(answer, path, text, edited.text)

    @tool(read_only=True, origin="workspace", effects=reads)
    def list_dir(self, ctx: Context, path: str = "") -> str:
        """List a folder, with the files' sizes in bytes."""
        path = path or "."
        with told("list", path):
            real = self._existing(ctx, path)
            if not real.is_dir():
                raise ToolError(f"{path} is a file; use read_file")
            return listing(real, self.config.list_max_entries) or f"{path} is empty."

    @tool(read_only=True, origin="workspace", effects=reads)
    def glob(self, ctx: Context, pattern: str, path: str = "") -> str:
        """Find files below path by pattern (* ? [..] {a,b} **). Hidden ones only if the pattern
        names a dot."""
        path = path or "."
        with told("search", path):
            wanted = FilePattern(pattern)
            base, rest = split_base(pattern)
            root = self._folder(ctx, path)
            if base:
                root = ctx.paths.resolve(base, base=root)
            tree = Tree(ctx.paths, root, Clock())
            inner = FilePattern(rest)
            found = [
                file
                for name in tree.files(hidden=wanted.hidden)
                if inner.matches(name) and ctx.paths.judge(str(file := root / name)) is None
            ]
        names = sorted(shown(ctx.paths, file) for file in found)
        if not names and not tree.stopped:
            return f"No file below {path} matches {cut(pattern, SHOWN_CHARS)}."
        lines = names[: self.config.glob_max_results]
        if len(lines) < len(names):
            lines.append(f"[{len(lines)} of {len(names)} files shown; narrow the pattern]")
        if tree.stopped:
            lines.append("[stopped: too many files; give a path or a narrower pattern]")
        return "\n".join(lines)

    @tool(read_only=True, origin="workspace", effects=reads)
    async def grep(
        self,
        ctx: Context,
        pattern: str,
        path: str = "",
        glob: str | None = None,
        ignore_case: bool = False,
    ) -> str:
        """Search the lines of files for a regular expression. path is a folder or file; glob
        limits the files, as in src/**/*.py."""
        found = await asyncio.to_thread(self._search, ctx, pattern, path or ".", glob, ignore_case)
        lines: list[str] = []
        for file, rows in found.by_file:
            label = shown(ctx.paths, file)
            try:
                lines.append(await ctx.read("\n".join(rows), label))
            except Refused as error:
                lines.append(f"[{label}: {error}]")
        if not lines:
            wanted = cut(pattern, SHOWN_CHARS)
            lines.append(f"No line matches {wanted} ({found.searched} files searched).")
        return "\n".join(lines + self._left_out(ctx, found))

    def _read(self, ctx: Context, path: str, wanted: Wanted) -> Page:
        with told("read", path):
            real = self._file(ctx, path)
            page = read_page(ctx.paths, real, path, wanted)
        Seen.of(ctx).note(real, page.stamp)
        return page

    def _search(
        self, ctx: Context, pattern: str, path: str, glob: str | None, ignore_case: bool
    ) -> Found:
        compiled = LineSearch(pattern, ignore_case=ignore_case)
        wanted = anywhere("*" if glob is None else glob)
        clock = Clock()
        paths = ctx.paths
        with told("search", path):
            root = self._existing(ctx, path)
            tree = Tree(paths, root, clock)

            def files() -> Iterator[Path]:
                if not root.is_dir():
                    yield root
                    return
                for name in tree.files(hidden=wanted.hidden):
                    if wanted.matches(name):
                        yield root / name

            limit = self.config.grep_max_matches
            found = search(paths, files(), compiled, limit, clock, lambda file: shown(paths, file))
        if not root.is_dir() and not found.searched and not found.large:
            raise ToolError(f"{path} is binary or cannot be read; only text is searched")
        found.stopped = found.stopped or tree.stopped
        return found

    def _left_out(self, ctx: Context, found: Found) -> list[str]:
        notes = []
        if found.more:
            notes.append(
                f"[{found.count} matches shown, there are more; narrow pattern, path or glob]"
            )
        if found.large:
            notes.append(f"[{found.large} file(s) too large to search]")
        if found.slow:
            names = ", ".join(shown(ctx.paths, file) for file in found.slow[:5])
            notes.append(f"[the pattern took too long in {len(found.slow)} file(s): {names}]")
        if found.stopped:
            notes.append("[stopped: out of time; give a narrower path or glob]")
        return notes

    def _warning(self, ctx: Context, real: Path, path: str, target: Target) -> list[str]:
        """What to tell about the version that is being replaced. Raises if it is a newer one."""
        seen = Seen.of(ctx)
        if target.before is None or seen.current(real, target.before):
            return []
        if seen.knows(real):
            raise ToolError(
                f"{path} has changed on disk since you read it and was not written; read it "
                "again, then write what should be there"
            )
        return [f"Note: {path} existed and had not been read in this session."]

    def _writable(self, ctx: Context, real: Path, path: str) -> Path:
        if ctx.paths.is_given(real):
            raise Refused(f"{path} came with a message and stays as it is; write a copy elsewhere")
        return real

    def _existing(self, ctx: Context, path: str) -> Path:
        real = ctx.paths.resolve(path)
        if not real.exists():
            raise missing(ctx.paths, real, path)
        return real

    def _folder(self, ctx: Context, path: str) -> Path:
        real = self._existing(ctx, path)
        if not real.is_dir():
            raise ToolError(f"{path} is a file, not a folder")
        return real

    def _file(self, ctx: Context, path: str) -> Path:
        real = self._existing(ctx, path)
        if real.is_dir():
            raise ToolError(f"{path} is a folder; use list_dir")
        return real
