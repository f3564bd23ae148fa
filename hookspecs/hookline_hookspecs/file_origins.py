"""Where files came from: the service :class:`FileOrigins`, and functions for attachments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hookline_hookspecs import Host, Origin, Session

__all__ = [
    "BackgroundCommand",
    "BackgroundCommands",
    "FileOrigins",
    "local_file_origins",
    "origins_of",
    "received_file_origins",
]

DOWNLOAD_ATTRIBUTES = ("user.xdg.origin.url", "user.xdg.referrer.url")
"""Extended attributes in which browsers and download tools note a file's address (freedesktop.org,
*Guidelines for extended attributes*)."""
MAX_ADDRESS_CHARS = 200
"""Characters of an address that an origin names."""


class FileOrigins(Protocol):
    """Knows where files came from; provided by the plugin that tracks them."""

    async def of(self, paths: Iterable[Path]) -> tuple[Origin, ...]:
        """Return the origins of files from outside; a folder stands for all files in it."""


@dataclass(frozen=True, slots=True)
class BackgroundCommand:
    """A command that goes on after its tool call, or has ended since.

    Attributes:
        number: counts the commands of a chat from 1; ``/jobs NUMBER`` shows this one.
        command: the command as one short line.
        started: Unix time.
        is_running: False once it has ended.
        last_line: the last line of its output since then.
    """

    number: int
    command: str
    started: float
    is_running: bool
    last_line: str = ""


class BackgroundCommands(Protocol):
    """Knows which sessions have left commands running; offered by each plugin that runs some."""

    async def has_running(self, session: Session) -> bool:
        """Return True if processes that the session started may still write files."""

    async def count_running(self, session: Session) -> int:
        """Return the number of commands that the session and its sub-agents left running."""

    async def commands(self, session: Session) -> Sequence[BackgroundCommand]:
        """Return the commands of the session and its sub-agents: running, and ended last."""


async def origins_of(host: Host, paths: Iterable[Path]) -> tuple[Origin, ...]:
    """Return the origins of files; empty if no plugin tracks them."""
    service: FileOrigins | None = host.services.get(FileOrigins)
    return await service.of(paths) if service is not None else ()


def local_file_origins(path: Path) -> tuple[Origin, ...]:
    """Return the origins of a file of this machine, for an attachment.

    That is outside if the file was downloaded. The marks of :class:`FileOrigins` are added when the
    message is read.
    """
    for attribute in DOWNLOAD_ATTRIBUTES:
        try:
            address = os.getxattr(path, attribute)
        except (AttributeError, OSError):  # macOS has no getxattr; most files have none
            continue
        return (Origin("outside", address.decode("utf-8", "replace")[:MAX_ADDRESS_CHARS]),)
    return (Origin("workspace", f"attachment {path.name}"),)


def received_file_origins(name: str) -> tuple[Origin, ...]:
    """Return the origins of a file that someone sent: whoever made it is not known."""
    return (Origin("outside", f"attachment {name}"),)
