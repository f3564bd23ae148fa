"""Completion of slash commands and of ``@file:`` and ``@folder:`` paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from hookline_hookspecs import Paths
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

COMMANDS = (
    *("/help", "/new", "/reset", "/stop", "/model", "/status", "/usage", "/context"),
    *("/compact", "/compress", "/retry", "/undo", "/title", "/sessions", "/resume"),
    *("/queue", "/steer", "/plugins", "/whoami"),
    *("/user", "/memory", "/skills", "/skill", "/rewind", "/rollback", "/insights"),
    *("/approve", "/deny", "/schedule", "/exit", "/quit"),
)
"""The commands of the standard plugins (CONTRACT), and the chat's own two."""
KINDS = ("@file:", "@folder:", "@diff", "@staged", "@git:", "@url:")
"""The references that plugin ``context-refs`` knows."""
MOST = 500
"""Entries of a folder that are looked at."""
_REFERENCE = re.compile(r'(?:^|[\s(\[{])@(file|folder):("?)((?(2)[^"\n]*|[^\s"]*))$')
_KIND = re.compile(r"(?:^|[\s(\[{])(@[a-z]*)$")


class ChatCompleter(Completer):
    """Completes what stands before the cursor."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterable[Completion]:
        """Commands at the beginning of a message, references anywhere."""
        text = document.text_before_cursor
        if re.fullmatch(r"/\w*", text):
            return _starting_with(text, COMMANDS)
        reference = _REFERENCE.search(text)
        if reference is not None:
            return self._paths_like(*reference.groups())
        kind = _KIND.search(text)
        return _starting_with(kind[1], KINDS) if kind else ()

    def _paths_like(self, kind: str, quote: str, typed: str) -> Iterator[Completion]:
        folder, slash, start = typed.rpartition("/")
        folder += slash
        for name in self._names(folder, start, folders_only=kind == "folder"):
            path = folder + name
            # A name with a blank needs quotes, which may have to be put before what is typed.
            text = path if quote or not re.search(r"\s", path) else f'"{path}'
            yield Completion(text, start_position=-len(typed), display=name)

    def _names(self, folder: str, start: str, *, folders_only: bool) -> list[str]:
        try:
            with os.scandir(self._paths.resolve(folder or ".")) as entries:
                found = [
                    entry.name + ("/" if entry.is_dir() else "")
                    for entry in islice(entries, MOST)
                    if entry.name.startswith(start)
                    and (start or not entry.name.startswith("."))
                    and not (folders_only and not entry.is_dir())
                ]
        except OSError:  # refused ones too
            return []
        return sorted(name for name in found if self._paths.judge(folder + name) is None)


def _starting_with(typed: str, words: Iterable[str]) -> Iterator[Completion]:
    for word in words:
        if word.startswith(typed.casefold()):
            yield Completion(word, start_position=-len(typed))
