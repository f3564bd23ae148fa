"""The folder that machines share, for files that people send and for chats' work folders.

In each home ``media``, and the folder ``work`` of each chat, are links to it.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from hookline_hookspecs import HooklineError

FOLDER_MODE = 0o700


def share_media(home: Path, shared: Path) -> None:
    """Make ``media`` in the home a link to the shared folder.

    Raises ``HooklineError`` if that fails, or if the home's folder has files.
    """
    try:
        _link(home / "media", shared.expanduser() / "media")
    except OSError as error:
        raise HooklineError(
            f"cluster.files: {shared} cannot be used: {error.strerror or error}"
        ) from error


def share_work(home: Path, shared: Path, channel: str, chat_id: str) -> None:
    """Make a chat's work folder a link to the shared one. Raises like `share_media`."""
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
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if link.is_dir() and not link.is_symlink():
        if any(link.iterdir()):
            raise HooklineError(f"cluster.files: {link} has files. Move them to {folder} first")
        link.rmdir()
    link.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(folder.resolve(), target_is_directory=True)


def _encoded(name: str) -> str:
    """A channel or chat as a folder name, encoded like in core."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E") or "_"
