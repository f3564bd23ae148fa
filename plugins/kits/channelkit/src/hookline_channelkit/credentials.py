"""What proves to a platform who the bot is: tokens, secrets, an app's id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Host
from pydantic import BaseModel, Field, SecretStr


@dataclass(frozen=True, slots=True)
class Credential:
    """One of them, which has a field of its name in the settings. Its words are parts of sentences.

    Args:
        name: the field.
        variable: the environment variable, or line of ``.env``, that is read where config has none.
            It is that of the first bot of a kind; another, such as ``telegram:work``, has its own.
        pattern: a regular expression that all of it matches.
        what: what it is called: ``token``.
        looks: how it looks, behind "which": ``looks like 123456:ABC-def``.
        make: how one is made: ``make a bot with @BotFather``.
        source: where it is copied from: ``@BotFather``.
    """

    name: str
    variable: str
    pattern: str
    what: str
    looks: str
    make: str
    source: str

    def field(self, default: Any = SecretStr(""), **extra: Any) -> Any:  # noqa: B008
        """The field of the settings, with what ``hookline init`` says besides: ``guide``, ``link``,
        and ``ask`` for one that is no secret."""
        told = f"The {self.what}, from {self.source}; else the variable {self.variable}."
        more: Any = {"env": self.variable, **extra}
        return Field(default=default, description=told, json_schema_extra=more)

    def value(self, config: BaseModel, host: Host) -> str:
        """It, of config or of the environment; empty without one."""
        given = getattr(config, self.name)
        text = given.get_secret_value() if isinstance(given, SecretStr) else str(given)
        of_env = host.env.get(self.variable, "") if ":" not in host.plugin else ""
        return (text or of_env).strip()

    def unknown(self, platform: str) -> str:
        """What is said where the platform does not know it, as ``PROBLEM; WHAT TO DO``."""
        kind = self.variable.partition("_")[0].casefold()
        return (
            f"{platform} does not know {kind}.{self.name}; copy it anew from {self.source} into "
            f".env as {self.variable}=…"
        )

    def fault(self, value: str, plugin: str) -> str | None:
        """Why ``value`` will not do, as ``PROBLEM; WHAT TO DO``, or None; it is not tried."""
        if re.fullmatch(self.pattern, value):
            return None
        is_first = ":" not in plugin
        where = f"{plugin}.{self.name}" if is_first else f"plugins.{plugin}.{self.name}"
        wrong = f"is no {self.what}, which {self.looks}" if value else "is missing"
        mend = f"copy it from {self.source}" if value else self.make
        named = f"put it into .env as {self.variable}=…"
        if not is_first:
            named = (
                f'put it into .env under a name of its own, and write `{self.name}: "${{NAME}}"`'
            )
        return f"{where} {wrong}; {mend}, {'and ' if is_first else ''}{named}"
