"""Completion of slash commands, of their arguments, and of ``@path``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from hookline_hookspecs import Command, Paths
from hookline_markdown import one_line
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from .workspace_files import WorkspaceFiles

REFERENCES = (
    ("@file:", "a file: @file:path or @file:path:10-20"),
    ("@folder:", "what is in a folder"),
    ("@diff", "what is changed and not staged"),
    ("@staged", "what is staged"),
    ("@changes", "all that differs from the last commit, or from a base: @changes:main"),
    ("@git:", "the last commits: @git:3"),
    ("@url:", "a page: @url:https://…"),
)
"""The references that plugin ``context-refs`` knows besides ``@path``."""
LOCAL_COMMANDS = (
    ("/exit", "End the chat."),
    ("/keys", "Show what the keys do."),
    ("/quit", "End the chat."),
)
"""Commands of the chat itself."""
MAX_DESCRIPTION_COLUMNS = 200
ARGUMENT_TIMEOUT = 2.0
"""Seconds for a command to offer its arguments."""
Completions: TypeAlias = Callable[[str, str], Awaitable[Sequence[tuple[str, str]]]]
_COMMAND = re.compile(r"/\S*")
_ARGUMENT = re.compile(r"(/\S+)\s+(\S.*|)", re.DOTALL)
_REFERENCE = re.compile(r'(?:^|[\s(\[{])@(?:(file|folder):)?(")?((?(2)[^"\n]*|[^\s"]*))$')


class ChatCompleter(Completer):
    """Completes the text before the cursor.

    Args:
        paths: the guarded workspace.
        commands: returns every slash command.
        session: returns the session of the chat, for the arguments of commands.
        before: returns an earlier session of this chat, while the current one is empty.
    """

    def __init__(
        self,
        paths: Paths,
        commands: Callable[[], Sequence[Command]],
        session: Callable[[], str | None],
        before: Callable[[], Awaitable[str | None]] | None = None,
    ) -> None:
        self._files = WorkspaceFiles(paths)
        self._commands = commands
        self._session = session
        self._before = before

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterable[Completion]:
        """Commands at the beginning of a message, references anywhere."""
        text = document.text_before_cursor
        if _COMMAND.fullmatch(text):
            return self._names(text)
        reference = _REFERENCE.search(text)
        if reference is None:
            return ()
        kind, quote, typed = reference.groups()
        return self._referred(kind, quote or "", typed)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Complete the arguments of commands too; files are searched in a thread."""
        argument = _ARGUMENT.fullmatch(document.text_before_cursor)
        offered: Iterable[Completion] = ()
        if argument is not None:
            offered = await self._arguments(*argument.groups())
        if not offered:
            offered = await asyncio.to_thread(
                lambda: list(self.get_completions(document, complete_event))
            )
        for completion in offered:
            yield completion

    def _names(self, typed: str) -> Iterator[Completion]:
        """Yield the commands that begin with the text, then those that contain it, then those that
        have its letters in this order."""
        known = dict(LOCAL_COMMANDS)
        for command in self._commands():
            source = command.source.removeprefix("plugin ")
            known[command.name] = f"{command.help} · {source}" if source else command.help
            known |= dict.fromkeys(command.aliases, f"{command.name}: {known[command.name]}")
        query = typed[1:].casefold()
        first = sorted(name for name in known if name[1:].startswith(query))
        others = sorted(name for name in known if query in name and name not in first)
        scattered = re.compile(".*".join(map(re.escape, query)))
        rest = sorted(known.keys() - {*first, *others}) if len(query) > 1 else []
        for name in [*first, *others, *filter(scattered.search, rest)]:
            yield Completion(name, start_position=-len(typed), display_meta=known[name])

    async def _arguments(self, name: str, typed: str) -> list[Completion]:
        for command in self._commands():
            names = (command.name, *command.aliases)
            if name.casefold() in names and command.complete is not None:
                break
        else:
            return []
        try:
            async with asyncio.timeout(ARGUMENT_TIMEOUT):
                found = await self._offered(command.complete, typed)
        except Exception:
            return []  # An error here must not disturb a person who is typing.
        return [
            Completion(
                text,
                start_position=-len(typed),
                display_meta=one_line(description, MAX_DESCRIPTION_COLUMNS),
            )
            for text, description in found
        ]

    async def _offered(self, complete: Completions, typed: str) -> Sequence[tuple[str, str]]:
        found = await complete(self._session() or "", typed)
        if found or self._before is None:
            return found
        # What belongs to the chat, not to a session, is found through a stored session.
        before = await self._before()
        return await complete(before, typed) if before is not None else ()

    def _referred(self, kind: str | None, quote: str, typed: str) -> Iterator[Completion]:
        query = typed.casefold()
        found = self._files.search(typed, folders_only=kind == "folder")
        named = [path for path in found if query and _name(path).startswith(query)]
        yield from (_path(path, quote, typed) for path in named)
        if kind is None and not quote:
            for name, description in REFERENCES:
                if name[1:].startswith(typed):
                    yield Completion(name[1:], start_position=-len(typed), display_meta=description)
        yield from (_path(path, quote, typed) for path in found if path not in named)


def _name(path: str) -> str:
    """Return the last part of a file's or folder's path, in lower case."""
    return path.rstrip("/").rpartition("/")[2].casefold()


def _path(path: str, quote: str, typed: str) -> Completion:
    # A name with a blank needs quotes, which may have to be added before the typed text.
    text = path if quote or not re.search(r"\s", path) else f'"{path}'
    closed = f'{text}"' if text.startswith('"') and not path.endswith("/") else text
    closed = f'{text}"' if quote and not path.endswith("/") else closed
    return Completion(closed, start_position=-len(typed), display=one_line(path, 200))
