"""The files that an approval of a call is bound to (service ``CallFiles``)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hookline_hookspecs.bound_files import BoundFile, CommandFiles, read_bound_file
from hookline_hookspecs.host import Context
from hookline_hookspecs.messages import ToolCall
from hookline_hookspecs.origins import Effect
from hookline_hookspecs.paths import Paths

from ..engine import Engine

MAX_HASHED_FILES = 64
"""Files of one call whose content is read; further ones are recognized by their times."""
MAX_MISSING_FILES = 100
"""Names of a call that are no file yet and that are compared."""
MAX_PATH_CHARS = 4096
WRITING = ("write", "configure", "delete")


class BoundCallFiles:
    """Reads the files that the arguments of a call name, and those that a command runs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of_call(self, ctx: Context, call: ToolCall) -> tuple[BoundFile, ...]:
        """The files as they are now."""
        paths = ctx.paths
        service: CommandFiles | None = self._engine.services.get(CommandFiles)
        named = dict(service.command_files(call, paths)) if service is not None else {}
        if not named:
            named = _named_files(call, paths, ctx.effects(call), split=service is None)
        if _exists(named):
            return await asyncio.to_thread(_read, named, paths)
        return _read(named, paths)


def _exists(paths: Iterable[str]) -> bool:
    return any(map(os.path.lexists, paths))


def _read(named: Mapping[str, bool], paths: Paths) -> tuple[BoundFile, ...]:
    """The files with these paths; of those that do not exist, the first ones."""
    found: list[BoundFile] = []
    missing = 0
    for path, is_written in named.items():
        file = read_bound_file(
            path,
            is_written=is_written,
            keep_text=paths.check_path(path) is None,
            by_content=len(found) - missing < MAX_HASHED_FILES,
        )
        missing += not file.digest
        if file.digest or missing <= MAX_MISSING_FILES:
            found.append(file)
    return tuple(found)


def _named_files(
    call: ToolCall, paths: Paths, effects: Sequence[Effect], *, split: bool
) -> dict[str, bool]:
    """The files that arguments and effects name, each with whether the call writes it.

    ``split``: the words of an argument may be files too, such as those of a command.
    """
    targets = [(one.target, one.kind in WRITING) for one in effects if one.target]
    written = {_absolute(target, paths) for target, writes in targets if writes}
    texts = [*_texts(call.arguments), *(target for target, _ in targets)]
    if split:
        texts += [word for text in texts for word in text.split()]
    return {path: path in written for text in texts if (path := _absolute(text, paths))}


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a call's arguments."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            pending += one.values()
        elif isinstance(one, list | tuple):
            pending += one


def _absolute(text: str, paths: Paths) -> str:
    """The absolute path that a text may be; empty if it cannot be one."""
    if not text or len(text) > MAX_PATH_CHARS or "\n" in text or "\0" in text or "://" in text:
        return ""
    return os.path.normpath(Path(paths.workspace, os.path.expanduser(text)))  # noqa: PTH111
