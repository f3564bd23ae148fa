"""The plugin and its six tools.

Blocking work runs in threads. Text passes ``pre_read`` before the model sees it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace as replace_fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hookline_hookspecs import (
    Ask,
    Content,
    Context,
    Effect,
    Host,
    Plugin,
    Refused,
    Session,
    Target,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolResult,
    Turn,
    hookimpl,
    tool,
)
from hookline_textmatch import EditError, cut, numbered, replace

from . import approval
from .config import FilesConfig
from .diff import change_output
from .file_tree import Deadline, FileTree, display_path, list_folder
from .glob_pattern import GlobPattern, any_depth, split_base
from .grep import GrepResult, LinePattern, grep
from .page import LineRange, Page, read_page
from .path_errors import not_found_error, path_errors
from .read_versions import ReadVersions
from .write_target import WriteTarget

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.turn import CallTool, ToolMiddleware

    from .diagnostics import Diagnostics

MAX_SHOWN_PATTERN_CHARS = 200
"""Characters of a search pattern that a result repeats."""


class Files(Plugin[FilesConfig]):
    """Read, write, edit, list, glob and grep files, within ``ctx.paths``."""

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Make the message's attachments readable, although they lie in Hookline's home."""
        for item in turn.inbound.attachments:
            ctx.paths.give(item.path)

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | None:
        """Ask before a write to a file that runs by itself or instructs agents; show the change."""
        if call.name not in approval.WRITE_TOOLS:
            return None
        return await asyncio.to_thread(
            approval.approval_question, ctx.paths, call, self.config.max_file_bytes
        )

    @hookimpl
    def around_tool(self, ctx: Context, call: ToolCall) -> ToolMiddleware | None:
        """Add what a language server finds in the changed file, if one is configured."""
        if not self.config.diagnostics or call.name not in approval.WRITE_TOOLS:
            return None

        async def checked(call: ToolCall, call_next: CallTool) -> ToolResult:
            path = self._diagnosed(ctx, call)
            if path is None:
                return await call_next(call)
            check = await self._diagnostics.before(ctx, path, display_path(ctx.paths, path))
            result = await call_next(call)
            notes = await check.notes() if result.ok else []
            return replace_fields(result, notes=(*result.notes, *notes))

        return checked

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """End the language servers of the session."""
        if self.config.diagnostics:
            await self._diagnostics.end_session(session.id)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """End all language servers."""
        if self.config.diagnostics:
            await self._diagnostics.close()

    @cached_property
    def _diagnostics(self) -> Diagnostics:
        from .diagnostics import Diagnostics

        return Diagnostics(self.host, self.config.diagnostics)

    def _diagnosed(self, ctx: Context, call: ToolCall) -> Path | None:
        """The file of a call, if a language server is configured for it."""
        try:
            path = ctx.paths.resolve(str(call.arguments.get("path")))
        except OSError:
            return None  # the tool reports the error
        return path if self._diagnostics.has(path) else None

    def read_effects(self, ctx: Context, call: ToolCall) -> list[Effect]:
        """Effects of the tools that read."""
        return approval.read_effects(ctx.paths, call)

    def write_effects(self, ctx: Context, call: ToolCall) -> list[Effect]:
        """Effects of the tools that write."""
        return approval.write_effects(ctx.paths, call, self.config.max_file_bytes)

    @tool(read_only=True, paged=True, origin="workspace", effects=read_effects)
    async def read_file(
        self, ctx: Context, path: str, start_line: int | None = None, end_line: int | None = None
    ) -> str:
        """Read a text file, or its lines start_line to end_line. Lines come as number, tab, text.
        A long file comes in parts."""
        config = self.config
        lines = LineRange(start_line, end_line, config.read_max_lines, config.read_max_chars)
        page = await asyncio.to_thread(self._read, ctx, path, lines)
        if not page.lines:
            return f"{path} is empty."
        text = await ctx.read(page.text, path)
        result = numbered(text.split("\n"), page.first)
        if page.note:
            result = f"{page.note}\n{result}"
        if not page.full:
            return result
        total = "" if page.total is None else f" of {page.total}"
        part = f"lines {page.first}-{page.last}{total} shown"
        return f"{result}\n[{part}; go on with start_line={page.last + 1}]"

    @tool(origin="workspace", effects=write_effects)
    def write_file(
        self, ctx: Context, path: Annotated[str, Target("file")], content: Annotated[str, Content()]
    ) -> str | ToolOutput:
        """Create a text file with its folders, or replace a whole one; edit_file changes parts."""
        with path_errors("write", path):
            real = self._writable(ctx, ctx.paths.resolve(path))
            target = WriteTarget.at(ctx.paths, real, path, self.config.max_file_bytes)
            notes = self._overwrite_notes(ctx, real, path, target)
            if target.has_content(content):
                return f"{path} already has exactly this content."
            written = target.write(content)
        ReadVersions.of(ctx).record(real, written.stamp)
        verb = "Created" if target.before is None else "Replaced"
        answer = f"{verb} {path}: {written.lines} line(s), {written.stamp.size} bytes"
        answer = "\n".join((answer, *notes, *written.notes))
        comparable = target.before is None or target.text is not None
        return change_output(answer, path, target.text, content if comparable else None)

    @tool(origin="workspace", effects=write_effects)
    def edit_file(
        self,
        ctx: Context,
        path: Annotated[str, Target("file")],
        old_string: str,
        new_string: Annotated[str, Content()],
        replace_all: bool = False,
    ) -> ToolOutput:
        """Replace old_string by new_string in a text file. old_string has no line numbers and must
        be unique, unless replace_all."""
        with path_errors("edit", path):
            real = self._writable(ctx, self._file(ctx, path))
            target = WriteTarget.at(ctx.paths, real, path, self.config.max_file_bytes)
            before, text = target.require_text()
            try:
                edited = replace(text, old_string, new_string, replace_all=replace_all, name=path)
            except EditError as error:
                raise ToolError(str(error)) from error
            stamp = target.store(edited.text)
        answer = f"Edited {path}: {edited.count} replacement(s), strategy {edited.strategy}"
        if not new_string.isascii() and (note := target.form.uncertainty(path)):
            answer += f"\n{note}"
        versions = ReadVersions.of(ctx)
        if versions.is_current(real, before):
            versions.record(real, stamp)
        elif versions.has_read(real):
            answer += f"\nNote: {path} had changed on disk since you read it; lines may have moved."
        return change_output(answer, path, text, edited.text)

    @tool(read_only=True, origin="workspace", effects=read_effects)
    def list_dir(self, ctx: Context, path: str = "") -> str:
        """List a folder, with the files' sizes in bytes."""
        path = path or "."
        with path_errors("list", path):
            real = self._existing(ctx, path)
            if not real.is_dir():
                raise ToolError(f"{path} is a file; use read_file")
            return list_folder(real, self.config.list_max_entries) or f"{path} is empty."

    @tool(read_only=True, origin="workspace", effects=read_effects)
    def glob(self, ctx: Context, pattern: str, path: str = "") -> str:
        """Find files below path by pattern (* ? [..] {a,b} **). Hidden ones only if the pattern
        names a dot."""
        path = path or "."
        with path_errors("search", path):
            whole_pattern = GlobPattern(pattern)
            root = self._folder(ctx, path)
            base, rest = split_base(pattern, root)
            if base:
                root = ctx.paths.resolve(base, base=root)
            tree = FileTree(ctx.paths, root, Deadline())
            inner = GlobPattern(rest)
            files = [
                file
                for name in tree.files(hidden=whole_pattern.hidden)
                if inner.matches(name) and ctx.paths.check_path(str(file := root / name)) is None
            ]
        names = sorted(display_path(ctx.paths, file) for file in files)
        if not names and not tree.stopped:
            return f"No file below {path} matches {cut(pattern, MAX_SHOWN_PATTERN_CHARS)}."
        lines = names[: self.config.glob_max_results]
        if len(lines) < len(names):
            lines.append(f"[{len(lines)} of {len(names)} files shown; narrow the pattern]")
        if tree.stopped:
            lines.append("[stopped: too many files; give a path or a narrower pattern]")
        return "\n".join(lines)

    @tool(read_only=True, origin="workspace", effects=read_effects)
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
        found = await asyncio.to_thread(self._grep, ctx, pattern, path or ".", glob, ignore_case)
        lines: list[str] = []
        for file, rows in found.by_file:
            label = display_path(ctx.paths, file)
            try:
                lines.append(await ctx.read("\n".join(rows), label))
            except Refused as error:
                lines.append(f"[{label}: {error}]")
        if not lines:
            shown = cut(pattern, MAX_SHOWN_PATTERN_CHARS)
            lines.append(f"No line matches {shown} ({found.searched} files searched).")
        return "\n".join(lines + self._left_out(ctx, found))

    def _read(self, ctx: Context, path: str, lines: LineRange) -> Page:
        with path_errors("read", path):
            real = self._file(ctx, path)
            page = read_page(ctx.paths, real, path, lines)
        ReadVersions.of(ctx).record(real, page.stamp)
        return page

    def _grep(
        self, ctx: Context, pattern: str, path: str, glob: str | None, ignore_case: bool
    ) -> GrepResult:
        compiled = LinePattern(pattern, ignore_case=ignore_case)
        file_pattern = any_depth("*" if glob is None else glob)
        deadline = Deadline()
        paths = ctx.paths
        with path_errors("search", path):
            root = self._existing(ctx, path)
            tree = FileTree(paths, root, deadline)

            def files() -> Iterator[Path]:
                if not root.is_dir():
                    yield root
                    return
                for name in tree.files(hidden=file_pattern.hidden):
                    if file_pattern.matches(name):
                        yield root / name

            limit = self.config.grep_max_matches
            found = grep(
                paths, files(), compiled, limit, deadline, lambda file: display_path(paths, file)
            )
        if not root.is_dir() and not found.searched and not found.large:
            raise ToolError(f"{path} is binary or cannot be read; only text is searched")
        found.stopped = found.stopped or tree.stopped
        return found

    def _left_out(self, ctx: Context, found: GrepResult) -> list[str]:
        notes = []
        if found.more:
            notes.append(
                f"[{found.count} matches shown, there are more; narrow pattern, path or glob]"
            )
        if found.large:
            notes.append(f"[{found.large} file(s) too large to search]")
        if found.slow:
            names = ", ".join(display_path(ctx.paths, file) for file in found.slow[:5])
            notes.append(f"[the pattern took too long in {len(found.slow)} file(s): {names}]")
        if found.stopped:
            notes.append("[stopped: out of time; give a narrower path or glob]")
        return notes

    def _overwrite_notes(
        self, ctx: Context, real: Path, path: str, target: WriteTarget
    ) -> list[str]:
        """Notes about the version that is being replaced.

        Raises:
            ToolError: the file has changed since this session read it.
        """
        versions = ReadVersions.of(ctx)
        if target.before is None or versions.is_current(real, target.before):
            return []
        if versions.has_read(real):
            raise ToolError(
                f"{path} has changed on disk since you read it and was not written; read it "
                "again, then write what should be there"
            )
        return [f"Note: {path} existed and had not been read in this session."]

    def _writable(self, ctx: Context, real: Path) -> Path:
        if reason := ctx.paths.write_refusal(real):
            raise Refused(reason)
        return real

    def _existing(self, ctx: Context, path: str) -> Path:
        real = ctx.paths.resolve(path)
        if not real.exists():
            raise not_found_error(ctx.paths, real, path)
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
