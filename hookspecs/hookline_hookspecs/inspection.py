"""What core tells about itself: the service :class:`Inspection`, for commands that show it.

``host.services[Inspection]`` is always there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .events import ToolSchema


@dataclass(frozen=True, slots=True)
class StablePrompt:
    """The stable tier of a session: what it sends first, byte for byte, until it ends.

    ``parts`` are ``(plugin, slot, text)`` in the order in which ``system`` holds them;
    ``tools_json`` is the schemas as compact JSON, ``owners`` the plugin of each tool and
    ``sha256`` the digests of ``system`` and ``tools_json`` in hexadecimal.
    """

    system: str
    tools: tuple[ToolSchema, ...]
    tools_json: str
    parts: tuple[tuple[str, str, str], ...]
    owners: Mapping[str, str]
    sha256: tuple[str, str]


class Inspection(Protocol):
    """Everything there is to see; :meth:`purge` and :meth:`delete_session` remove it."""

    def hooks(self) -> Mapping[str, list[str]]:
        """Who implements each hook, in the order of the calls."""

    async def plugins(self) -> list[dict[str, Any]]:
        """Every plugin that config names or that is installed: ``name dist version kind state
        reason hooks errors`` and, where config names it, ``warnings``. ``errors`` are the last
        failures, newest first, ``{hook, reason, at}``."""

    def plugin_problems(self) -> list[str]:
        """Sentences about plugins that are not on although they should be, and about settings that
        their plugin does not know."""

    def plugin_details(self, name: str) -> dict[str, Any]:
        """``tools commands settings schema`` of a plugin that config names, else nothing.
        ``tools`` are ``(name, JSON of the schema)``, ``settings`` the effective ones, masked."""

    def config_problems(self) -> list[str]:
        """What is wrong with config.yaml, .env and the providers' sections, as sentences."""

    def default_model(self) -> str:
        """``provider/model`` of config or environment. Raises with a sentence if there is none."""

    def check_model(self, model: str) -> None:
        """Make the provider of ``model``. Raises with a sentence if it cannot be made."""

    def store_location(self) -> str:
        """Where the data is. Raises ``StoreError`` where the store is not installed."""

    async def storage_used(self, plugin: str) -> Any:
        """What a plugin keeps: ``tables`` with their rows, ``values`` and ``bytes``."""

    async def purge(self, plugin: str) -> None:
        """Remove everything a plugin has stored."""

    async def prompt(self, session_id: str | None) -> StablePrompt | None:
        """The stable prompt of a stored session, None if there is none; without an id that of a
        new session in the terminal."""

    async def delete_session(self, session_id: str) -> None:
        """Delete a session and all that was said in it."""
