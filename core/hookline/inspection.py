"""Describes the running core and its config (services ``Inspection`` and ``Configuration``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hookline_hookspecs import HOOKS, PluginFailure
from hookline_hookspecs.inspection import StablePrompt
from hookline_hookspecs.messages import Message, TextBlock
from hookline_hookspecs.requests import ModelRequest

from . import clock
from .bus.implementation import describe
from .config import ConfigError, ConfigFile, choose_model, effective, load, parse
from .config.choose import absent_drivers, unknown_options
from .engine import Engine, Providers
from .home import environment
from .plugins.discovery import hooks_of
from .plugins.loader import Plugins, PluginStatus
from .sessions.manager import Sessions
from .sessions.prompt import tool_json

TRIAL_PROMPT = "Say: ready"
"""What a model is sent to see whether it answers."""
MAX_STORED_FAILURES = 1000
"""Maximum number of distinct plugin failures that a process keeps."""


class CoreInspection:
    """Implements ``Inspection``."""

    def __init__(self, engine: Engine, sessions: Sessions, plugins: Plugins) -> None:
        self._engine = engine
        self._sessions = sessions
        self._plugins = plugins
        self._journal = engine.journal
        self.default_model = engine.providers.default_model
        self.check_model = engine.providers.check
        self.window = engine.providers.window
        self._failures: dict[PluginFailure, float] = {}
        self.failures = self._failures.copy
        engine.bus.signals.connect("plugin_failed", self._note)

    def _note(self, event: PluginFailure, **_rest: Any) -> None:
        if event in self._failures or len(self._failures) < MAX_STORED_FAILURES:
            self._failures[event] = clock.now()

    def hooks(self) -> Mapping[str, list[str]]:
        """The plugins that implement each hook, in call order."""
        return {
            name: [impl.plugin for impl in self._engine.bus.implementations(name)] for name in HOOKS
        }

    async def plugins(self) -> list[dict[str, Any]]:
        """Every plugin that config names, and the installed ones of the standard set."""
        statuses = self._plugins.statuses.items()
        return [
            _row(name, one)
            for name, one in statuses
            if one.entry.named or one.state != "off" or one.reason
        ]

    def plugin_problems(self) -> list[str]:
        """Sentences about enabled plugins that are not on, and about unknown settings."""
        off, warnings = _problems(self._plugins)
        return off + warnings

    def untrusted_settings(self) -> str:
        """Why the settings of the workspace are not used."""
        return self._engine.loaded.untrusted

    def plugin_details(self, name: str) -> dict[str, Any]:
        """A plugin's tools, commands, settings and their schema; empty if it is unknown."""
        status = self._plugins.statuses.get(name)
        if status is None:
            return {}
        plugin, settings = status.plugin, effective(self._engine.loaded).get("plugins", {})
        tools = [(tool.name, tool_json(tool.schema)) for tool in status.tools if not tool.deferred]
        commands = [one.name for one in status.commands]
        schema = _schema(plugin.config_class) if plugin else {}
        return {
            "tools": tools,
            "commands": commands,
            "settings": settings.get(name, {}),
            "schema": schema,
        }

    def store_location(self) -> str:
        """The location of the database."""
        return str(self._engine.store.location())

    async def storage_used(self, plugin: str) -> Any:
        """How much a plugin has stored."""
        return await self._engine.storage(plugin, None).usage()

    async def purge(self, plugin: str) -> None:
        """Delete everything that a plugin has stored."""
        await self._engine.storage(plugin, None).purge()

    async def prompt(self, session_id: str | None) -> StablePrompt | None:
        """The stable prompt of a session, or of a new one; None if the session is unknown."""
        if session_id is None:
            stable = await self._sessions.preview()
        elif (state := await self._sessions.existing(session_id)) is not None:
            stable = state.stable
        else:
            return None
        owners = {name: tool.plugin for name, tool in self._engine.tools.items()}
        return replace(stable, owners=owners)

    async def delete_session(self, session_id: str) -> None:
        """Delete a session and its messages."""
        async with self._sessions.lock(session_id):
            await self._journal.delete_session(session_id)


class CoreConfiguration:
    """Implements ``Configuration``.

    ``make_runtime`` creates a runtime from a config and a home; ``uses_project`` is as in ``load``.
    """

    def __init__(
        self,
        home: Path,
        plugins: Plugins,
        make_runtime: Callable[..., Any],
        engine: Engine,
        *,
        uses_project: bool,
    ) -> None:
        self._home = home
        self._uses_project = uses_project
        self._make_runtime = make_runtime
        self._plugins = plugins
        self._engine = engine
        self._text = self._read()
        engine.bus.retry_guards = self._retry_guards
        self._use = engine.use_models
        self._hide_secrets = engine.hide_secrets
        self.models_text: str | None = None
        self.switch_off = plugins.switch_off
        self.reload = plugins.reload

    async def switch_on(self, name: str) -> str | None:
        """Load and set up a plugin that config.yaml now turns on."""
        return await self._plugins.switch_on(name, load(self._home, environment()))

    async def _retry_guards(self) -> None:
        """Load missing guards again, with the start's config unless config.yaml has changed.

        An empty file may just be written.
        """
        loaded = self._engine.loaded
        if self._read() not in (b"", self._text):
            try:
                loaded = load(self._home, environment(), uses_project=self._uses_project)
            except ConfigError:
                return
        await self._plugins.retry_guards(loaded)

    def _read(self) -> bytes:
        try:
            return (self._home / "config.yaml").read_bytes().strip()
        except OSError:
            return b""

    def parse(self, text: str, key: tuple[str, ...] = ()) -> Any:
        """Parse a YAML text: a whole config, or the value of ``key``."""
        return parse(".".join(key) or self._home / "config.yaml", text, key)

    def check(
        self, text: str | None = None, *, plugins: bool = False
    ) -> tuple[list[str], list[str]]:
        """The errors that switch something off, and the warnings, as sentences."""
        loaded = load(self._home, environment(), text=text)
        found = self._make_runtime(loaded, self._home, strict=False).plugins
        found.load(None if plugins or text is None else ())
        off, warnings = _problems(found)
        absent = [*loaded.provider_errors.values(), *absent_drivers(loaded)]
        return absent + off, [*loaded.warnings, *warnings, *unknown_options(loaded)]

    def default_model(self) -> str:
        """The ``provider/model`` that commands use by default."""
        loaded = load(self._home, environment(), uses_project=self._uses_project)
        return "/".join(choose_model(loaded))

    def reload_models(self) -> None:
        """Use the model and the providers that config has now."""
        loaded = load(self._home, environment(), uses_project=self._uses_project)
        choose_model(loaded)
        self._use(loaded)
        self.models_text = loaded.path.read_bytes().decode("utf-8-sig")

    def preset_model(self, provider: str) -> str:
        """The default model of a preset."""
        preset = load(self._home, {}, text="").presets.get(provider)
        return preset.model if preset is not None else ""

    async def try_model(self, model: str, text: str, variables: Mapping[str, str]) -> str:
        """Send one short request with a config that is not stored."""
        loaded = load(self._home, {**environment(), **variables}, text=text)
        self._hide_secrets(loaded.secrets)
        providers = Providers(loaded)
        message = Message("user", (TextBlock(TRIAL_PROMPT),))
        request = ModelRequest(model, "", (), (message,), purpose="auxiliary", retry_seconds=0.0)
        try:
            provider = providers.get(model)
            response = await provider.send(provider.render(request), None)
            return Message("assistant", response.blocks).text
        finally:
            await providers.aclose()

    def effective(self, text: str | None = None) -> dict[str, Any]:
        """The config in effect, with secrets masked."""
        uses_project = self._uses_project and text is None
        return effective(load(self._home, environment(), text=text, uses_project=uses_project))

    def sources(self) -> dict[str, str]:
        """Where each key is set, by dotted key: a file and line, a variable or an option."""
        loaded = load(self._home, environment(), uses_project=self._uses_project)
        return {
            ".".join(key): place if isinstance(place, str) else f"{loaded.path}:{place}"
            for key, place in loaded.lines.items()
            if key
        }

    def schema(self) -> dict[str, Any]:
        """The JSON schema of config.yaml."""
        return ConfigFile.model_json_schema()


def _problems(plugins: Plugins) -> tuple[list[str], list[str]]:
    """Sentences about plugins that are not on although they should be, and their warnings."""
    statuses = plugins.statuses.values()
    failed = [one for one in statuses if one.state in ("failed", "missing")]
    off = [f"plugin {one.entry.name} is not on: {one.reason}" for one in failed]
    return off, [warning for one in statuses for warning in one.warnings]


def _row(name: str, one: PluginStatus) -> dict[str, Any]:
    hooks = hooks_of(one.plugin) if one.plugin else []
    return {
        "name": name,
        "kind": "standard" if one.entry.standard else "third-party",
        "state": one.state,
        "reason": one.reason,
        "hooks": hooks,
        "warnings": one.warnings,
    }


def _schema(kind: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = kind.model_json_schema()
    except Exception as error:  # a type without a JSON schema
        found = {"description": f"The schema could not be generated: {describe(error)}"}
    return found
