"""The folder that machines share: what people send, and what the agent does in a chat's folder.

In each home ``media``, and the folder ``work`` of each chat, are links to it.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from hookline_hookspecs import HooklineError

MODE = 0o700


def share_media(home: Path, shared: Path) -> None:
    """Have ``media`` in the home be the shared one.

    Raises ``HooklineError`` where that is not possible, or files are in the way.
    """
    try:
        _link(home / "media", shared.expanduser() / "media")
    except OSError as error:
        raise HooklineError(
            f"cluster.files: {shared} cannot be used: {error.strerror or error}"
        ) from error


def share_work(home: Path, shared: Path, channel: str, chat_id: str) -> None:
    """Have the work folder of a chat be the shared one. Raises like `share_media`."""
    place = Path(_encoded(channel), _encoded(chat_id))
    try:
        _link(home / "chats" / place / "work", shared.expanduser() / "chats" / place)
    except OSError as error:
        raise HooklineError(
            f"cluster.files: {shared} cannot be used: {error.strerror or error}"
        ) from error


def _link(link: Path, folder: Path) -> None:
    if link.is_symlink() and link.resolve() == folder.resolve():
        return
    folder.mkdir(mode=MODE, parents=True, exist_ok=True)
    if link.is_dir() and not link.is_symlink():
        if any(link.iterdir()):
            raise HooklineError(
                f"cluster.files: {link} holds files of its own; move them to {folder} first"
            )
        link.rmdir()
    link.parent.mkdir(mode=MODE, parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(folder.resolve(), target_is_directory=True)


def _encoded(name: str) -> str:
    """A channel or chat as the name of a folder, as core has it."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E") or "_"
