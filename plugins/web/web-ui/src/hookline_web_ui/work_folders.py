"""The folder that a chat works in: the default one, or one that an operator chose."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from hookline_hookspecs import Deny, Host, Inbound
from hookline_hookspecs.people import PeopleDirectory
from hookline_hookspecs.web import Identity, Problem, t
from hookline_hookspecs.workspaces import Workspaces

from .session_owner import CHANNEL, conversation

FOLDERS = "folders"
"""Key of the folders in which ``hookline web`` was started, the last one first."""
MAX_FOLDERS = 20
DEFAULT = ""
"""Stands for the folder that a chat has by default."""
HOMES = ("/home", "/Users")
TOO_LARGE = (*HOMES, "/", "/root", "/opt", "/srv", "/usr", "/var", "/Applications")
SYSTEM = (
    *("/bin", "/boot", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys"),
    *("/System", "/Library"),
    *("/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin"),
)
"""Folders of the system; nobody works in what they hold."""


class ChatFolders:
    """Reads and changes the folders of chats (protocol ``WorkFolders``)."""

    def __init__(self, host: Host) -> None:
        self._host, self._storage = host, host.storage
        self._first: Path | None = None
        """The folder of operators' new chats."""

    # What ``hookline web`` asks for

    async def is_known(self, folder: Path) -> bool:
        """Return whether the folder can be chosen."""
        return str(_real(folder)) in await self.known()

    async def begin_in(self, folder: Path) -> None:
        """Make a folder the one of operators' new chats; it can be chosen from now on."""
        real = _real(folder)
        await asyncio.to_thread(self._require_usable, real)
        await self._remember(real)
        self._first = real

    async def _remember(self, folder: Path) -> None:
        """Offer a folder from now on, before the others."""
        others = [one for one in await self._storage.kv.get(FOLDERS, []) if one != str(folder)]
        await self._storage.kv.set(FOLDERS, [str(folder), *others][:MAX_FOLDERS])

    # Choices

    async def known(self) -> list[str]:
        """Return the folders that an operator can choose, those used last first."""
        rows = await self._storage.fetch("terminal_folders", limit=MAX_FOLDERS)
        roots = [str(one) for one in self._host.services[Workspaces].allowed_roots()]
        named = [
            *await self._storage.kv.get(FOLDERS, []),
            *(str(row["workspace"] or "") for row in rows),
            *roots,
        ]
        return await asyncio.to_thread(self._usable, named)

    def _usable(self, named: list[str]) -> list[str]:
        real = dict.fromkeys(str(_real(Path(one))) for one in named if one)
        usable = [one for one in real if self._refusal(Path(one)) is None]
        return usable[: 2 * MAX_FOLDERS]

    def _refusal(self, folder: Path) -> str | None:
        """Return why no chat may work in a folder, or None."""
        if not os.path.lexists(folder):
            return t("{folder} does not exist.", folder=folder)
        if not folder.is_dir():
            return t("{folder} is not a folder.", folder=folder)
        home, person = self._host.home.resolve(), _real(Path("~"))
        is_home = folder in (person, *person.parents) or str(folder.parent) in HOMES
        if is_home or str(folder) in TOO_LARGE:
            return t("{folder} is too large to work in. Choose a folder in it.", folder=folder)
        if any(folder.is_relative_to(one) for one in SYSTEM):
            return t("{folder} belongs to the system.", folder=folder)
        if not os.access(folder, os.R_OK | os.X_OK):
            return t("Hookline may not read {folder}.", folder=folder)
        if folder == home or home in folder.parents or folder in home.parents:
            return t("{folder} holds Hookline's own files.", folder=folder)
        return None

    def _require_usable(self, folder: Path) -> None:
        """Raise :class:`Problem` (400) for a folder in which no chat may work."""
        guard = self._host.services[Workspaces].paths
        if reason := self._refusal(folder) or guard(folder).check_path(str(folder)):
            raise Problem(400, "bad_request", reason)

    async def first(self, who: Identity) -> str:
        """Return the folder of a person's new chats; empty for the default one."""
        return str(self._first) if self._first is not None and who.is_operator else DEFAULT

    async def chosen(self, session_id: str) -> str:
        """Return the folder that was chosen for a chat; empty for the default one."""
        rows = await self._storage.fetch("workspace", id=conversation(session_id))
        return str(rows[0]["folder"]) if rows else DEFAULT

    async def checked(self, who: Identity, folder: Any) -> str:
        """Return the real path of a folder that a person has named, and offer it from now on.

        Raises :class:`Problem` (400, 403).
        """
        if not who.is_operator:
            raise Problem(403, "forbidden", t("Only operators can choose the folder of a chat."))
        is_text = isinstance(folder, str) and folder.isprintable()
        real = await asyncio.to_thread(_real, Path(folder.strip())) if is_text else Path()
        if not real.is_absolute():
            text = t("Write the whole path of the folder, such as /srv/shop or ~/shop.")
            raise Problem(400, "bad_request", text)
        await asyncio.to_thread(self._require_usable, real)
        await self._remember(real)
        return str(real)

    async def choose(self, who: Identity, session_id: str, folder: Any) -> None:
        """Choose the folder of a chat of this person; only the default one does not need an
        operator. Raises :class:`Problem` (400, 403)."""
        if folder != DEFAULT:
            folder = await self.checked(who, folder)
        id_ = conversation(session_id)
        rows = await self._storage.fetch("root", id=id_)
        id_ = rows[0]["root"] if rows else id_
        await self._storage.execute("put_workspace", id=id_, folder=folder)

    async def forget(self, session_id: str) -> None:
        """Forget the choice for a deleted chat."""
        await self._storage.execute("forget_workspace", id=conversation(session_id))

    # Using it

    async def workspace(self, row: Any) -> Path:
        """Return the folder in which a stored session works."""
        chosen = await self.chosen(row["id"]) if row["channel"] == CHANNEL else DEFAULT
        if chosen:
            return Path(chosen)
        if row["channel"] == "terminal" and row["workspace"]:
            return Path(row["workspace"])
        return self._host.services[Workspaces].default(row["channel"], row["chat_id"])

    async def begin(self, session_id: str) -> None:
        """Let an operator's new chat work in the first folder, unless another was chosen."""
        if self._first is None or await self._storage.fetch("workspace", id=session_id):
            return
        await self._storage.execute("put_workspace", id=session_id, folder=str(self._first))

    async def placed(self, inbound: Inbound) -> Inbound:
        """Return a message with the folder of its chat."""
        found = await self.place(inbound)
        return found if isinstance(found, Inbound) else inbound

    async def place(self, inbound: Inbound) -> Inbound | Deny | None:
        """Return a message of the page with the folder of its chat; None if none was ever chosen.

        A folder that may not be used any more refuses the message, so that nothing happens in
        another one instead.
        """
        if inbound.channel != CHANNEL or not inbound.session_id or inbound.workspace is not None:
            return None
        rows = await self._storage.fetch("workspace", id=conversation(inbound.session_id))
        if not rows:
            return None
        chosen = str(rows[0]["folder"])
        if chosen == DEFAULT:  # named, because the session may still be in another one
            default = self._host.services[Workspaces].default(inbound.channel, inbound.chat_id)
            return replace(inbound, workspace=default)
        reason = await asyncio.to_thread(self._refusal, Path(chosen))
        if reason is None and not await self._may_choose(inbound.chat_id):
            reason = t("Only operators can choose the folder of a chat.")
        if reason is not None:
            return Deny(
                f"This chat cannot work in {chosen} any more: {reason} Choose another folder "
                "below the message box."
            )
        return replace(inbound, workspace=Path(chosen))

    async def _may_choose(self, name: str) -> bool:
        """Whether a person is still an operator; without a directory nobody's role changes."""
        people = self._host.services.get(PeopleDirectory)
        return people is None or await people.role(f"{CHANNEL}:{name}") == "admin"


def _real(folder: Path) -> Path:
    """Return the folder without links and with ``~`` replaced; a relative one stays as it is."""
    try:
        named = folder.expanduser()
        return named.resolve() if named.is_absolute() else named
    except (OSError, RuntimeError):  # a loop of links, or no home
        return folder
