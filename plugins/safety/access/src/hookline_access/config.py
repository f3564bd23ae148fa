"""The settings: who may write and who is admin.

A plugin whose settings are wrong is switched off, and without this one everybody could write. So
nothing here is ever refused: what is wrong lets nobody in, and ``faults`` says what it is.
"""

from __future__ import annotations

import unicodedata
from typing import Any, Literal

from pydantic import BaseModel, Field, PrivateAttr, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler

EVERYBODY = "*"


class AccessConfig(BaseModel):
    """Who may write, who is admin, and the limits of pairing."""

    admins: list[str] = Field(default=[], description="CHANNEL:USER of each admin.")
    allow: list[str] = Field(
        default=[], description="CHANNEL:USER of each person, or CHANNEL:* for everybody there."
    )
    auditors: list[str] = Field(
        default=[],
        description="CHANNEL:USER of each person who may read the audit and what was used, and "
        "nothing else.",
    )
    os_users: dict[str, Literal["operator", "admin", "member", "auditor"]] = Field(
        default={},
        description="Accounts of the system that use this home through sudo, each with its role "
        "on the command line.",
    )
    code_minutes: float = Field(
        default=10.0, gt=0, le=1440, description="Minutes that a pairing code is good for."
    )
    codes_per_day: int = Field(
        default=5, ge=0, description="Pairing codes that one person gets in 24 hours."
    )
    open_codes: int = Field(
        default=1000,
        ge=0,
        le=5000,
        description="Pairing codes of one channel that are open at a time; who comes then is let "
        "in by name.",
    )
    claim_minutes: float = Field(
        default=60.0, gt=0, le=1440, description="Minutes that a claim code is good for."
    )
    timeout: float = Field(
        default=290.0, gt=0, le=290, description="Seconds that an admin has to answer an approval."
    )
    _faults: list[str] = PrivateAttr(default_factory=list)
    _admins: frozenset[str] = PrivateAttr(default=frozenset())
    _allow: frozenset[str] = PrivateAttr(default=frozenset())
    _auditors: frozenset[str] = PrivateAttr(default=frozenset())

    @model_validator(mode="wrap")
    @classmethod
    def _never_off(
        cls, given: Any, handler: ModelWrapValidatorHandler[AccessConfig]
    ) -> AccessConfig:
        """Leave out what is wrong; what is left lets fewer people in."""
        try:
            made = handler(given)
        except ValidationError as error:
            if not isinstance(given, dict):
                raise
            wrong = {str(one["loc"][0]): one for one in error.errors() if one["loc"]}
            kept = {name: value for name, value in given.items() if name not in wrong}
            made = handler(kept)
            for name, one in wrong.items():
                where = ".".join(map(str, one["loc"]))
                made._faults.append(f"access.{where} is ignored, {name} with it: {one['msg']}")
        made._admins = made._sound("admins", made.admins, wildcard=False)
        made._allow = made._sound("allow", made.allow, wildcard=True)
        made._auditors = made._sound("auditors", made.auditors, wildcard=False)
        if both := made._admins & made._auditors:
            made._admins -= both
            names = ", ".join(sorted(both))
            told = f"access.admins and access.auditors both name {names}, who is only auditor"
            made._faults.append(f"{told}; name each once")
        return made

    def _sound(self, name: str, entries: list[str], *, wildcard: bool) -> frozenset[str]:
        """The entries that name somebody; the others become faults."""
        whys = {entry: fault_of(entry, wildcard=wildcard) for entry in entries}
        self._faults += [
            f"access.{name} holds {entry!r}, which is nobody: {why}"
            for entry, why in whys.items()
            if why is not None
        ]
        return frozenset(entry for entry, why in whys.items() if why is None)

    @property
    def faults(self) -> list[str]:
        """What is wrong with the settings, a sentence each."""
        return list(self._faults)

    @property
    def named(self) -> tuple[list[str], list[str], list[str]]:
        """The admins, the others that are let in and the auditors, without entries that name
        nobody."""
        return (
            [one for one in self.admins if one in self._admins],
            [one for one in self.allow if one in self._allow],
            [one for one in self.auditors if one in self._auditors],
        )

    @property
    def has_admin(self) -> bool:
        """True if ``admins`` names anybody."""
        return bool(self._admins)

    def is_admin(self, channel: str, user_id: str) -> bool:
        """True for a person that ``admins`` names."""
        return not self._admins.isdisjoint(_names(channel, user_id))

    def is_auditor(self, channel: str, user_id: str) -> bool:
        """True for a person that ``auditors`` names."""
        return not self._auditors.isdisjoint(_names(channel, user_id))

    def allows(self, channel: str, user_id: str) -> bool:
        """True for a person that ``allow`` names, alone or with everybody on the channel."""
        return not self._allow.isdisjoint((*_names(channel, user_id), f"{channel}:{EVERYBODY}"))


def kind_of(channel: str) -> str:
    """The kind of a channel: ``telegram`` of ``telegram:work``, which is one of several."""
    return channel.partition(":")[0]


def _names(channel: str, user_id: str) -> tuple[str, str]:
    """How a list may name a person who writes on a channel: there alone, or on all of its kind."""
    return f"{channel}:{user_id}", f"{kind_of(channel)}:{user_id}"


def _can_be_an_id(text: str) -> bool:
    """False for control characters, and for halves of surrogate pairs, which nothing stores."""
    return not any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def fault_of(entry: str, *, wildcard: bool) -> str | None:
    """Why an entry of a list names nobody, or None."""
    channel, colon, user = entry.partition(":")
    if not colon or not channel or not user:
        return "write CHANNEL:USER, such as telegram:111"
    if entry != entry.strip() or channel != channel.strip() or user != user.strip():
        return "ids are taken literally, and it has blanks at an end"
    if not _can_be_an_id(entry):
        return "it holds a character that is in no id"
    if EVERYBODY in channel:
        return "* stands for people, never for channels"
    if user.rpartition(":")[2] == EVERYBODY and not wildcard:
        return "an admin is one person, never *"
    return None
