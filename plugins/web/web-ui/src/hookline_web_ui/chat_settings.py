"""What is chosen at the message box: model, mode and reasoning of a chat.

A choice is the slash command of the same name, sent without showing it in the chat, so that the
plugin that has the command checks and stores it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import (
    CommandSandbox,
    Conversations,
    HooklineError,
    Host,
    Inspection,
    Modes,
    Session,
)
from hookline_hookspecs.optional_services import ReasoningLevels
from hookline_hookspecs.web import Identity, Problem, t, translate
from hookline_hookspecs.workspaces import Workspaces

from .message_sender import MessageSender
from .person_settings import PeopleSettings
from .session_owner import Chat, chat_of, is_mine
from .session_reader import SETTING_PREFIX, SessionReader
from .work_folders import ChatFolders

SETTINGS = ("model", "mode", "reasoning")
"""The settings, named as their commands."""
MAX_CHOICES = 100
CHOICES_TIMEOUT = 3.0
"""Seconds for a command to offer its choices; afterwards only the current one is offered."""
MAX_VALUE_CHARS = 200


class ChatSettings:
    """Reads and changes the settings of chats."""

    def __init__(
        self,
        host: Host,
        reader: SessionReader,
        sender: MessageSender,
        people_settings: PeopleSettings,
        folders: ChatFolders,
    ) -> None:
        self._host, self._reader, self._sender = host, reader, sender
        self._people_settings, self._folders = people_settings, folders

    async def read(self, who: Identity, session_id: str) -> dict[str, Any]:
        """Return the settings with their choices; those of a new chat if ``session_id`` is empty.

        Raises :class:`Problem` (404).
        """
        row = await self._reader.row(who, session_id) if session_id else None
        if row is not None:
            model = str(row["model"] or "")
        else:
            model = (await self._people_settings.read(who.name)).model
        try:
            model = model or self._host.services[Inspection].default_model()
        except HooklineError:
            model = ""
        modes = self._host.services.get(Modes)
        levels = self._host.services.get(ReasoningLevels)
        chat = (row["channel"], row["chat_id"]) if row is not None else chat_of(who.name)
        values = {
            "model": model,
            "mode": await modes.get(session_id) if modes is not None else "",
            "reasoning": (await levels.level(_session(row, chat)) or "default")
            if levels is not None
            else "",
        }
        return {
            "settings": [
                {
                    "name": name,
                    "value": values[name],
                    "choices": await self._choices(name, session_id),
                }
                for name in SETTINGS
                if values[name]
            ],
            "window": self._host.services[Inspection].window(model) if model else None,
            "folder": await self._folder(who, row, chat),
            "sandbox": await self._sandbox(session_id),
        }

    async def _sandbox(self, session_id: str) -> str:
        """Return whether commands run in a sandbox: ``off``, ``default``, or ``no-network`` where a
        person has chosen that for the chat; empty without commands."""
        sandbox = self._host.services.get(CommandSandbox)
        if sandbox is None:
            return ""
        if session_id and await sandbox.is_offline(session_id):
            return "no-network"
        return "default" if await sandbox.covers_operator() else "off"

    async def choices(self, name: str) -> list[str]:
        """Return the values that a setting of a new chat can have."""
        return [one["value"] for one in await self._choices(name, "")]

    async def _folder(
        self, who: Identity, row: Mapping[str, Any] | None, chat: Chat
    ) -> dict[str, Any]:
        """Return a chat's folder: what was chosen, its path, and what can be chosen."""
        default = self._host.services[Workspaces].default(*chat)
        value = await (self._folders.first(who) if row is None else self._folders.chosen(row["id"]))
        path = str(await self._folders.workspace(row)) if row is not None else value or str(default)
        may = who.is_operator and (row is None or is_mine(who, chat))
        known = [one for one in await self._folders.known() if one != str(default)] if may else []
        found = {"value": value, "path": path, "default": str(default), "choices": known}
        return {**found, "other": may}

    async def _choices(self, name: str, session_id: str) -> list[dict[str, str]]:
        """Return what the command completes."""
        commands = self._host.services[Conversations].commands()
        complete = next((one.complete for one in commands if one.name == f"/{name}"), None)
        if complete is None:
            return []
        try:
            async with asyncio.timeout(CHOICES_TIMEOUT):
                found = await complete(session_id, "")
        except (HooklineError, TimeoutError):
            return []
        return [{"value": value, "about": translate(about)} for value, about in found[:MAX_CHOICES]]

    async def change(self, who: Identity, session_id: str, body: Mapping[str, Any]) -> None:
        """Change settings, given by name. Raises :class:`Problem` (400, 404, 409)."""
        body = dict(body)
        if "folder" in body:
            session = await self._sender.require_own(who, session_id)
            await self._folders.choose(who, session, body.pop("folder"))
        if "sandbox" in body:
            session = await self._sender.require_own(who, session_id)
            await self._put_sandbox(session, body.pop("sandbox"))
        for name, value in body.items():
            if name not in SETTINGS or not isinstance(value, str):
                names = f"Settings are {', '.join(SETTINGS)}, folder and sandbox, as strings."
                raise Problem(400, "bad_request", names)
            if not value.isprintable() or len(value) > MAX_VALUE_CHARS or not value.strip():
                raise Problem(
                    400, "bad_request", t("{name} must be one of its choices.", name=name)
                )
        for name, value in body.items():
            await self._sender.command(who, session_id, f"/{name} {value.strip()}", SETTING_PREFIX)

    async def _put_sandbox(self, session_id: str, value: Any) -> None:
        """Make a chat's sandbox stricter than the settings, or as they say; it is never freer."""
        sandbox = self._host.services.get(CommandSandbox)
        if sandbox is None or value not in ("default", "no-network"):
            raise Problem(400, "bad_request", "sandbox must be default or no-network.")
        if value == "no-network" and not await sandbox.covers_operator():
            raise Problem(409, "no_sandbox", t("Commands run on this machine without a sandbox."))
        await sandbox.put_offline(session_id, offline=value == "no-network")


def _session(row: Mapping[str, Any] | None, chat: Chat) -> Session:
    """A stored session; without a row the next one of a chat."""
    if row is None:
        return Session("", *chat, None, 0.0)
    return Session(row["id"], *chat, row["title"], row["created"], kind=row["kind"])
