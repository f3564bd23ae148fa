"""The settings of the plugin, under ``plugins: access:`` in ``config.yaml``.

A plugin with invalid settings is switched off, and without this one everyone could write. So
invalid settings are ignored instead, which lets fewer people in, and ``faults`` names them.
"""

from __future__ import annotations

import unicodedata
from typing import Any, Literal

from pydantic import BaseModel, Field, PrivateAttr, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler

EVERYBODY = "*"


class AccessConfig(BaseModel):
    """Who may write, who is admin, and the limits of pairing."""

    admins: list[str] = Field(
        default=[], title="Admins", description="Admins, each as CHANNEL:USER."
    )
    allow: list[str] = Field(
        default=[],
        title="Allowed people",
        description="People who may write, each as CHANNEL:USER; CHANNEL:* for everyone there.",
    )
    auditors: list[str] = Field(
        default=[],
        title="Auditors",
        description="People who may only read the audit log and usage, each as CHANNEL:USER.",
    )
    os_users: dict[str, Literal["operator", "admin", "member", "auditor"]] = Field(
        default={},
        title="System accounts",
        description=(
            "System accounts that use Hookline through sudo, each with its role on the command "
            "line."
        ),
    )
    code_minutes: float = Field(
        default=10.0,
        gt=0,
        le=1440,
        title="Pairing code lifetime (minutes)",
        description="Minutes that a pairing code is valid.",
    )
    codes_per_day: int = Field(
        default=5,
        ge=0,
        title="Pairing codes per person and day",
        description="Maximum pairing codes for one person in 24 hours.",
    )
    open_codes: int = Field(
        default=1000,
        ge=0,
        le=5000,
        title="Open pairing codes per channel",
        description="Maximum open pairing codes per channel; beyond that, let people in by name.",
    )
    claim_minutes: float = Field(
        default=60.0,
        gt=0,
        le=1440,
        title="Claim code lifetime (minutes)",
        description="Minutes that a claim code is valid.",
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
        """Ignore invalid settings; the remaining ones let fewer people in."""
        try:
            config = handler(given)
        except ValidationError as error:
            if not isinstance(given, dict):
                raise
            invalid = {str(fault["loc"][0]): fault for fault in error.errors() if fault["loc"]}
            valid = {name: value for name, value in given.items() if name not in invalid}
            config = handler(valid)
            for name, fault in invalid.items():
                where = ".".join(map(str, fault["loc"]))
                config._faults.append(f"access.{where}: {fault['msg']}. Ignoring access.{name}")
        config._admins = config._valid_entries("admins", config.admins, wildcard=False)
        config._allow = config._valid_entries("allow", config.allow, wildcard=True)
        config._auditors = config._valid_entries("auditors", config.auditors, wildcard=False)
        if both := config._admins & config._auditors:
            config._admins -= both
            names = ", ".join(sorted(both))
            fault_text = f"access.admins and access.auditors both name {names}: auditor applies"
            config._faults.append(f"{fault_text}. Name each person once")
        return config

    def _valid_entries(self, name: str, entries: list[str], *, wildcard: bool) -> frozenset[str]:
        """The valid entries; the others become faults."""
        faults = {entry: fault_of(entry, wildcard=wildcard) for entry in entries}
        self._faults += [
            f"access.{name}: ignoring {entry!r}: {fault}"
            for entry, fault in faults.items()
            if fault is not None
        ]
        return frozenset(entry for entry, fault in faults.items() if fault is None)

    @property
    def faults(self) -> list[str]:
        """The faults of the settings, one sentence each."""
        return list(self._faults)

    @property
    def named(self) -> tuple[list[str], list[str], list[str]]:
        """The valid entries of ``admins``, ``allow`` and ``auditors``."""
        return (
            [entry for entry in self.admins if entry in self._admins],
            [entry for entry in self.allow if entry in self._allow],
            [entry for entry in self.auditors if entry in self._auditors],
        )

    @property
    def has_admin(self) -> bool:
        """Whether ``admins`` has a valid entry."""
        return bool(self._admins)

    def is_admin(self, channel: str, user_id: str) -> bool:
        """Whether ``admins`` names this person."""
        return not self._admins.isdisjoint(_names(channel, user_id))

    def is_auditor(self, channel: str, user_id: str) -> bool:
        """Whether ``auditors`` names this person."""
        return not self._auditors.isdisjoint(_names(channel, user_id))

    def allows(self, channel: str, user_id: str) -> bool:
        """Whether ``allow`` names this person or everyone on the channel."""
        return not self._allow.isdisjoint((*_names(channel, user_id), f"{channel}:{EVERYBODY}"))


def channel_kind(channel: str) -> str:
    """The kind of a channel: ``telegram`` for ``telegram:work``."""
    return channel.partition(":")[0]


def _names(channel: str, user_id: str) -> tuple[str, str]:
    """The entries that name a person: on this channel, or on all channels of its kind."""
    return f"{channel}:{user_id}", f"{channel_kind(channel)}:{user_id}"


def _can_be_an_id(text: str) -> bool:
    """Whether a text has no control characters or surrogates, which no store accepts."""
    return not any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def fault_of(entry: str, *, wildcard: bool) -> str | None:
    """Why an entry of a list is invalid, or None."""
    channel, colon, user = entry.partition(":")
    if not colon or not channel or not user:
        return "write CHANNEL:USER, such as telegram:111"
    if entry != entry.strip() or channel != channel.strip() or user != user.strip():
        return "ids are compared literally, and this one starts or ends with a space"
    if not _can_be_an_id(entry):
        return "it contains a character that no id has"
    if EVERYBODY in channel:
        return "* stands for people, not for channels"
    if user.rpartition(":")[2] == EVERYBODY and not wildcard:
        return "name one person instead of *"
    return None
