"""The services :class:`Inspection` and :class:`Configuration`: information for commands.

``host.services[Inspection]`` is available from ``setup`` on, ``host.services[Configuration]`` also
in ``register_cli`` and in ``def`` commands, which run without the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .requests import ToolSchema
from .steps import PluginFailure


@dataclass(frozen=True, slots=True)
class StablePrompt:
    """The stable tier of a session: the start of every request it sends, always the same bytes.

    ``parts`` are ``(plugin, slot, text)`` in the order they appear in ``system``; ``tools_json`` is
    the schemas as compact JSON; ``owners`` maps each tool to its plugin; ``sha256`` is the digests
    of ``system`` and ``tools_json`` in hexadecimal.
    """

    system: str
    tools: tuple[ToolSchema, ...]
    tools_json: str
    parts: tuple[tuple[str, str, str], ...]
    owners: Mapping[str, str]
    sha256: tuple[str, str]


class Inspection(Protocol):
    """Reads core's state; :meth:`purge` and :meth:`delete_session` delete stored data."""

    def hooks(self) -> Mapping[str, list[str]]:
        """Return the plugins that implement each hook, in call order."""

    async def plugins(self) -> list[dict[str, Any]]:
        """Return every plugin that the config names and those of the standard set that are
        installed, each with ``name kind state reason hooks warnings``."""

    def failures(self) -> Mapping[PluginFailure, float]:
        """Return the failures of plugins in this process, at most 1,000 different ones, each with
        the Unix time in seconds at which it last occurred."""

    def plugin_problems(self) -> list[str]:
        """Return sentences about plugins that should be on but are not, and about settings that
        their plugin does not know."""

    def untrusted_settings(self) -> str:
        """Return why the settings of the workspace are not used, as a sentence; empty if they are,
        or there are none."""

    def plugin_details(self, name: str) -> dict[str, Any]:
        """Return ``tools commands settings schema`` of a plugin that the config names, otherwise an
        empty dict. ``tools`` are ``(name, JSON of the schema)``; ``settings`` are the effective
        ones, with secrets masked."""

    def default_model(self) -> str:
        """Return the ``provider/model`` from the config or environment. Raises ``HooklineError`` if
        there is none."""

    def check_model(self, model: str) -> None:
        """Create the provider of ``model``. Raises ``HooklineError`` if that is not possible."""

    def window(self, model: str) -> int:
        """Return the context window of ``provider/model`` in tokens."""

    def store_location(self) -> str:
        """Return where the data is. Raises ``StoreError`` if the store is not installed."""

    async def storage_used(self, plugin: str) -> Any:
        """Return what a plugin stores: ``tables`` with their row counts, ``values``, ``bytes``."""

    async def purge(self, plugin: str) -> None:
        """Delete everything a plugin has stored."""

    async def prompt(self, session_id: str | None) -> StablePrompt | None:
        """Return the stable prompt of a stored session, or None if there is no such session.
        Without an id, return that of a new session in the terminal."""

    async def delete_session(self, session_id: str) -> None:
        """Delete a session and all of its messages."""


class ConfigEditor(Protocol):
    """Edits the text of config.yaml; offered by ``configure``."""

    def with_value(self, text: str, key: str, value: str) -> str:
        """Return ``text`` with a dotted ``key`` set to a ``value`` in YAML; comments and order
        stay. Raises ``HooklineError`` if Hookline could not start with the result."""


class Configuration(Protocol):
    """The home's config as it would apply to a start now; each call reads it again.

    Available even if config.yaml prevents a start. Methods raise ``HooklineError``, one sentence
    per line for each problem, if the config cannot be used.
    """

    def parse(self, text: str, key: tuple[str, ...] = ()) -> Any:
        """Return the values in the YAML ``text`` of a config, or of the value at ``key``."""

    def check(
        self, text: str | None = None, *, plugins: bool = False
    ) -> tuple[list[str], list[str]]:
        """Return sentences about plugins and providers that the config keeps off, and warnings.

        Imports every enabled plugin and validates its settings. With ``text``, which replaces the
        content of config.yaml, no plugin is imported unless ``plugins`` says so.
        """

    def default_model(self) -> str:
        """Return the ``provider/model`` that a command would use."""

    def reload_models(self) -> None:
        """Use the default model, the providers and their keys that config has now, from the next
        model call on; everything else keeps its settings until a restart."""

    def preset_model(self, provider: str) -> str:
        """Return the default model of a provider that core knows; empty for others."""

    async def try_model(self, model: str, text: str, variables: Mapping[str, str]) -> str:
        """Send one short request to ``provider/model`` with a config that is not stored.

        Args:
            text: the content of config.yaml to use.
            variables: variables that ``.env`` would have.

        Returns the answer. Raises ``HooklineError``; it is a ``ProviderError`` if the provider did
        not answer.
        """

    @property
    def models_text(self) -> str | None:
        """The text of config.yaml at the last :meth:`reload_models`; None if there was none."""
        return None

    def effective(self, text: str | None = None) -> dict[str, Any]:
        """Return the effective config as plain values, with secrets masked; ``text`` replaces the
        content of config.yaml."""

    def sources(self) -> Mapping[str, str]:
        """Return where each key is set, by dotted key: a file and line, a variable or an option.

        A key that is not here has its default.
        """
        return {}

    async def switch_off(self, name: str) -> bool:
        """Tear down a plugin of this process now; return False if it is not on. Running sessions
        still offer its tools; calls return an error."""

    async def switch_on(self, name: str) -> str | None:
        """Load and set up a plugin that config.yaml turns on since this process started.

        Returns why it is not on afterwards, or an empty string; None if it has channels or routes,
        requires a plugin that is not on, or says that it needs a restart. Running sessions get its
        hooks, and keep their prompt without its tools. Raises ``KeyError`` if config does not name
        it.
        """

    async def reload(self, name: str) -> str:
        """Import the code of a plugin of this process again, and set it up. Returns why it is not
        on afterwards, or an empty string. Raises ``KeyError`` if config does not name it."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of config.yaml."""
