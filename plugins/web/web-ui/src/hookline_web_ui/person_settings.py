"""Settings of a person: stored on the server, so that they hold in every browser they use."""

from __future__ import annotations

from typing import Any, Literal

from hookline_hookspecs import Host
from pydantic import BaseModel, Field, ValidationError

_KEY = "settings:"
"""Begins the keys of people's settings in the plugin's storage."""


class PersonSettings(BaseModel):
    """What a person has chosen. A new setting needs a default, which holds until they choose.

    Attributes:
        theme: colours; ``system`` follows the operating system.
        enter: what Enter does in the message box of a computer.
        notify_questions: notify their browsers of questions they may answer.
        notify_turns: notify their browsers of long turns that have ended.
        model: the model of their new chats; empty for Hookline's default.
        language: the language of the pages, such as ``de``; empty for that of the browser.
    """

    theme: Literal["system", "light", "dark"] = "system"
    enter: Literal["send", "newline"] = "send"
    notify_questions: bool = True
    notify_turns: bool = True
    model: str = ""
    language: str = Field(default="", pattern=r"^([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*)?$")


class PeopleSettings:
    """Reads and stores the settings of people, by their name on the channel ``web``."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def read(self, name: str) -> PersonSettings:
        """Return a person's settings; the defaults if none, or invalid ones, are stored."""
        stored = await self._host.storage.kv.get(_KEY + name)
        if not isinstance(stored, dict):
            return PersonSettings()
        try:
            return PersonSettings(**stored)
        except ValidationError:
            return PersonSettings()

    async def change(self, name: str, changed: dict[str, Any]) -> PersonSettings:
        """Store some of a person's settings and return all. Raises ``ValidationError``."""
        made = PersonSettings(**{**(await self.read(name)).model_dump(), **changed})
        await self._host.storage.kv.set(_KEY + name, made.model_dump(exclude_defaults=True))
        return made
