"""``PluginContract``: the tests that every plugin must pass, as a class to subclass."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest
from hookline_hookspecs import HOOKS, SIGNALS, Host, Inspection, NoConfig, Plugin, Turn, hookimpl
from hookline_hookspecs.guessed_sinks import missing_declarations
from pydantic import BaseModel, ValidationError

from hookline.bus.implementation import PluginRefused, describe
from hookline.plugins.discovery import GROUP
from hookline.sessions.context import TurnContext, detached_context

from . import hostile_events, settings
from .harness import Harness, plugin_name
from .heavy_imports import NotImportable, heavy_imports
from .hook_fuzzing import check_hook
from .resource_leaks import ResourceSnapshot, tasks

Make = Callable[..., Harness]
ANSWERS = ["Very well."] * 500
"""The model's answers; more than any hook requests in one test."""
SETUP_FAILURE = "the contract makes setup fail at the end"


class PluginContract:
    """The contract of every plugin. Subclass it in a test file and set ``plugin``::

        class TestGreeterContract(PluginContract):
            plugin = Greeter
            config = {"greeting": "Hi"}

    Each test checks one rule; its failure message says what to change. The plugin runs in the
    real core (see ``Harness``) in strict mode, without a network and with a model that answers
    ``Very well.``; give it settings with which it can start under these conditions.
    """

    plugin: ClassVar[type[Plugin[Any]]]
    """The class to test."""
    config: ClassVar[Mapping[str, Any]] = {}
    """Settings with which it can start, as under its name in ``config.yaml``.

    They must include every setting without a default, to confirm that it is required on purpose.
    """
    core: ClassVar[Mapping[str, Any]] = {}
    """Core settings by dotted key, such as ``{"paths.allowed_roots": ["/srv"]}``."""
    needs: ClassVar[Sequence[type[Plugin[Any]]]] = ()
    """Other plugin classes that are on. Any other name in its ``requires`` is provided by a plugin
    that does nothing."""
    services: ClassVar[Mapping[type, Any]] = {}
    """Services by protocol: a fake for each service that another plugin would provide."""
    heavy_allowed: ClassVar[Sequence[str]] = ()
    """Heavy packages that its entry-point module may import; say why in a comment."""
    not_secret: ClassVar[Sequence[str]] = ()
    """Settings that are named like a secret but are not one, such as ``page_token``."""

    # Import

    def test_its_import_brings_no_heavy_module(self) -> None:
        """An enabled plugin that is not used must not cost the import time of an SDK."""
        module = self._module()
        if module == type(self).__module__:
            pytest.skip(f"{self.plugin.__name__} is defined in a test file, which no user imports")
        try:
            found = heavy_imports(module, frozenset(self.heavy_allowed))
        except NotImportable:
            pytest.skip(f"{module} can only be imported in this test run")
        except ImportError as error:
            _fail(f"importing {module} in a fresh interpreter failed:\n{error}")
        if found:
            lines = [f"{i.file}, line {i.line}, imports {i.package}" for i in found]
            _fail(
                f"importing {module} brings in heavy packages: {'; '.join(lines)}. Import them in "
                f"`setup` or where they are first used."
            )

    def test_its_entry_point_leads_to_it(self) -> None:
        """The name under ``plugins:`` refers to this class and to no other dist's."""
        package = self.plugin.__module__.partition(".")[0]
        points = list(entry_points(group=GROUP))
        own = [p for p in points if p.module.partition(".")[0] == package]
        if not own:
            self._expect_no_dist(package)
        if not any(_load(point) is self.plugin for point in own):
            found = ", ".join(f"{p.name} = {p.value}" for p in own)
            _fail(
                f"no entry point of {package} is {self.plugin.__name__}; found {found}. "
                f'Correct [project.entry-points."{GROUP}"] in pyproject.toml and install again.'
            )
        for point in own:
            rivals = {p.value for p in points if p.name == point.name} - {point.value}
            if rivals:
                _fail(
                    f"another distribution provides a plugin {point.name} too: {', '.join(rivals)}."
                )

    # Its settings

    def test_its_required_settings_are_known(self) -> None:
        """Every setting has a default or a value in the contract's ``config``."""
        missing = [name for name in settings.required(self._model()) if name not in self.config]
        if missing:
            _fail(
                f"{self._model().__name__} requires {', '.join(missing)}. Give each a default, so "
                f"that `plugins: {{{self._name()}: true}}` starts; or, if only the user can "
                f"know it, name it in the contract's `config`."
            )

    def test_its_settings_go_there_and_back(self) -> None:
        """Settings that are dumped and validated again are equal."""
        made = self._settings()
        dumped = made.model_dump(by_alias=True)
        try:
            again = type(made).model_validate(dumped)
        except ValidationError as error:
            _fail(f"{type(made).__name__} does not accept what it dumps itself: {error}")
        if again != made:
            now = again.model_dump(by_alias=True)
            changed = [name for name in dumped if dumped[name] != now.get(name)]
            _fail(
                f"{type(made).__name__} changes when it is dumped and validated again, in "
                f"{', '.join(changed) or 'a private part'}. A validator must return its own "
                f"output unchanged."
            )

    def test_its_settings_have_a_json_schema(self) -> None:
        """``hookline config schema`` and web forms can describe the settings."""
        try:
            json.dumps(self._model().model_json_schema())
        except Exception as error:
            _fail(
                f"{self._model().__name__} has no JSON schema: {error}. Use types that JSON can "
                f"express, or annotate the field with pydantic's WithJsonSchema."
            )

    def test_its_secrets_are_masked(self) -> None:
        """No secret appears when settings are shown, logged or dumped."""
        plain = [n for n in settings.plain_secrets(self._model()) if n not in self.not_secret]
        if plain:
            _fail(
                f"{', '.join(plain)} of {self._model().__name__} is named like a secret and is "
                f"plain text. Declare it as pydantic's SecretStr, or name it in the contract's "
                f"`not_secret`."
            )
        made = settings.with_canaries(self._model(), self.config)
        shown = {"repr": repr(made), "str": str(made), "model_dump_json": made.model_dump_json()}
        for secret in {s for s in settings.secrets(made) if len(s) > 3}:
            leaks = [method for method, text in shown.items() if secret in text]
            if leaks:
                _fail(
                    f"{' and '.join(leaks)} of {self._model().__name__} shows a secret in plain "
                    f"text. Keep SecretStr; do not serialise it yourself."
                )

    # Its hooks

    def test_its_hooks_are_valid(self, harness: Make) -> None:
        """Every hook is spelled correctly, accepts its arguments, and is marked."""
        h = self._open(harness)
        try:
            h.run(h.aopen())
        except PluginRefused as error:
            _fail(f"{self.plugin.__name__} cannot be registered: {error}.")
        except Exception:  # for example, from setup; the turn below reports it
            h.close()
        self._turn(h)

    def test_it_survives_hostile_events(self, harness: Make, tmp_path: Path) -> None:
        """Every hook handles empty, huge and malformed events, and modifies none of them."""
        h = self._open(harness)
        folder = tmp_path / "files"
        folder.mkdir()
        ctx = self._turn(h)
        complaints: list[str] = []
        for hook in HOOKS:
            for implementation in h.runtime.bus.implementations(hook):
                if implementation.plugin == self._name():
                    cases = hostile_events.events(
                        hook, folder, list(h.runtime.engine.tools.values())
                    )
                    complaints += h.run(check_hook(h.runtime.bus, implementation, ctx, cases))
        if complaints:
            _fail("\n".join(complaints))

    def test_its_tools_declare_what_they_do(self, harness: Make) -> None:
        """Warn about each tool that leaves open what it does, to whom or on what."""
        h = self._open(harness)
        self._turn(h)
        own = [one for one in h.runtime.engine.tools.values() if one.plugin == self._name()]
        for text in (text for one in own for text in missing_declarations(one)):
            warnings.warn(f"{text} (docs/authors/cookbook/tool.md)", stacklevel=2)

    # Setup and teardown

    def test_it_can_be_set_up_twice(self, harness: Make, tmp_path: Path) -> None:
        """A second start in the same process, with the same home, is like the first."""
        found = []
        for _ in range(2):
            h = self._open(harness, home=tmp_path / "again")
            self._turn(h)
            found.append(_registered(h))
            h.close()
        if found[0] != found[1]:
            _fail(
                f"{self._name()} differs when it is set up a second time in one process: "
                f"{_difference(*found)}. Keep state on the plugin, not in its module."
            )

    def test_several_of_it_stand_side_by_side(self, harness: Make) -> None:
        """If it is ``multiple``, two of it share no name of a tool, a command or a channel."""
        if not self.plugin.multiple:
            return
        names = (self._name(), f"{self._name()}:other")
        config = {name: dict(self.config) for name in names}
        h = harness(
            *self._company(),
            self.plugin,
            config=config,
            core=self.core,
            model=ANSWERS,
            strict=False,
        )
        self._turn(h)
        found = {name: reason for name, (state, reason) in h.states().items() if state != "on"}
        found |= {
            one.plugin: one.reason for one in h.runtime.engine.services[Inspection].failures()
        }
        if problems := "; ".join(
            f"{name}: {reason}" for name, reason in found.items() if name in names
        ):
            _fail(
                f"two of {self._name()} conflict: {problems}. Use `host.plugin` in the "
                "names of tools, commands and channels, or leave `multiple` off."
            )

    def test_its_teardown_leaves_nothing(self, harness: Make) -> None:
        """No task, thread or open file outlives the plugin."""
        bare = self._bare(harness)
        self._turn(bare)
        bare.close()
        h = self._open(harness)
        before = ResourceSnapshot.now()
        self._turn(h)
        left = h.run(_close_and_list_tasks(h))
        h.close()
        left += before.leaked()
        if left:
            _fail(
                f"{self._name()} leaves behind: {', '.join(left)}. End it in `teardown`; "
                f"core ends what `host.spawn` runs and `host.signals` connects."
            )

    def test_a_failing_setup_leaves_nothing(self, harness: Make) -> None:
        """If ``setup`` raises at its end, nothing of the plugin remains."""
        bare = self._bare(harness)
        self._turn(bare)
        broken = _with_failing_setup(self.plugin)
        h = self._open(harness, plugin=broken, strict=False)
        self._turn(h)
        state, reason = h.states()[self._name()]
        if state != "failed" or SETUP_FAILURE not in reason:
            _fail(f"{self._name()} is {state} ({reason}) although its setup raised.")
        left = _registered(h) - _registered(bare)
        left |= {f"a {line}" for line in h.run(_list_tasks())}
        if left:
            _fail(
                f"{self._name()} leaves behind, when its setup fails: {', '.join(sorted(left))}. "
                f"Register through the hooks and the host, so that core can take it back."
            )

    def test_it_costs_no_token_when_off(self, harness: Make, tmp_path: Path) -> None:
        """When it is off, it adds nothing to model requests."""
        sent = []
        for h in (self._bare(harness, tmp_path), self._open(harness, on=False, at=tmp_path)):
            self._turn(h)
            if not h.model.bodies:
                pytest.skip("no turn reaches the model under this configuration")
            sent.append(h.model.bodies[0])
            h.close()
        if sent[0] != sent[1]:
            _fail(
                f"with {self._name()}: false the first request has {len(sent[1]) - len(sent[0])} "
                f"bytes more than without the plugin. It must do nothing at import."
            )

    # Creating harnesses

    def _open(
        self,
        harness: Make,
        *,
        plugin: type[Plugin[Any]] | None = None,
        on: bool = True,
        at: Path | None = None,
        **options: Any,
    ) -> Harness:
        """Create a harness with the plugin, which is switched off unless ``on``."""
        entry = dict(self.config) if on else False
        if at is not None:
            options["workspace"] = at / "workspace"
        return harness(
            *self._company(),
            plugin or self.plugin,
            config={self._name(): entry},
            core=self.core,
            model=ANSWERS,
            **options,
        )

    def _bare(self, harness: Make, at: Path | None = None) -> Harness:
        """Create a harness without the plugin."""
        options = {"workspace": at / "workspace"} if at is not None else {}
        company = self._company()
        config: dict[str, Any] = {plugin_name(kind): {} for kind in company}
        return harness(*company, config=config, core=self.core, model=ANSWERS, **options)

    def _company(self) -> list[type[Plugin[Any]]]:
        """Return the other plugins that are on; those it needs come first."""
        named = [*self.needs, _Probe]
        taken = {plugin_name(kind) for kind in named}
        stubs = [type(name, (Plugin,), {}) for name in self.plugin.requires if name not in taken]
        return [_offering(self.services), *stubs, *named]

    def _turn(self, h: Harness) -> TurnContext:
        """Run a turn without a person; return its context, or an idle one if a guard refused it."""
        try:
            h.send("Hello.", approve="no")
        except Exception as error:
            _fail(
                f"{self._name()} fails in a turn: {describe(error)}. Give the contract "
                f"settings (`config`), plugins (`needs`) or `services` with which it starts."
            )
        seen = h.plugin(_Probe).seen
        return seen[-1] if seen else detached_context(h.runtime.engine)

    # About the plugin

    def _name(self) -> str:
        return plugin_name(self.plugin)

    def _model(self) -> type[BaseModel]:
        return self.plugin.config_class

    def _settings(self) -> BaseModel:
        try:
            return self._model().model_validate(dict(self.config))
        except ValidationError as error:
            _fail(f"the contract's `config` is refused by {self._model().__name__}: {error}")

    def _module(self) -> str:
        """Return the module in its entry point, or the one it is defined in."""
        for point in entry_points(group=GROUP, name=self._name()):
            if point.module.partition(".")[0] == self.plugin.__module__.partition(".")[0]:
                return point.module
        return self.plugin.__module__

    def _expect_no_dist(self, package: str) -> NoReturn:
        try:
            dist = distribution(package.replace("_", "-"))
        except PackageNotFoundError:
            pytest.skip(f"no dist that holds {package} is installed")
        _fail(
            f"the dist {dist.name} is installed and names no plugin. Add to its pyproject.toml:\n"
            f'[project.entry-points."{GROUP}"]\n'
            f'{self._name()} = "{package}:{self.plugin.__name__}"'
        )


class _Probe(Plugin[NoConfig]):
    """Records the context of each turn that begins."""

    def __init__(self, config: NoConfig, host: Host) -> None:
        super().__init__(config, host)
        self.seen: list[TurnContext] = []

    @hookimpl
    def start_of_turn(self, ctx: Any, turn: Turn) -> None:
        self.seen.append(ctx.base)


def _offering(services: Mapping[type, Any]) -> type[Plugin[Any]]:
    """Create a plugin that offers ``services``."""

    class Offers(Plugin[NoConfig]):
        @hookimpl(tryfirst=True)
        def setup(self, host: Host) -> None:
            for protocol, service in services.items():
                host.services.provide(protocol, service)

    return Offers


def _with_failing_setup(kind: type[Plugin[Any]]) -> type[Plugin[Any]]:
    """Create a subclass of the same name whose ``setup`` does its work and then raises."""

    async def setup(self: Any, host: Host) -> None:
        original = getattr(kind, "setup", None)
        if original is not None:
            arguments = {"host": host} if "host" in inspect.signature(original).parameters else {}
            result = original(self, **arguments)
            if inspect.isawaitable(result):
                await result
        raise RuntimeError(SETUP_FAILURE)

    body = {"setup": hookimpl(setup), "__module__": kind.__module__}
    return type(kind.__name__, (kind,), {**body, "__qualname__": kind.__qualname__})


def _registered(h: Harness) -> set[str]:
    """Describe everything that plugins have registered with a running core."""
    runtime = h.runtime
    h.hooks.close()  # otherwise every hook's signal has a listener
    has_receivers = runtime.bus.signals.has_receivers
    return {
        *(f"tool {name}" for name in runtime.engine.tools),
        *(f"command {command.name}" for command in runtime.commands.all()),
        *(f"channel {channel.name}" for channel in runtime.channels),
        *(f"service {protocol.__name__}" for protocol in runtime.engine.services),
        *(
            f"added service {getattr(protocol, '__name__', protocol)} {number}"
            for protocol, services in runtime.engine.added_services.items()
            for number, _ in enumerate(services)
        ),
        *(f"listener to {name}" for name in (*HOOKS, *SIGNALS) if has_receivers(name)),
        *(f"watcher {number}" for number, _ in enumerate(runtime.bus.observers)),
        *(
            f"hook {hook} of {implementation.plugin}"
            for hook in HOOKS
            for implementation in runtime.bus.implementations(hook)
        ),
    }


def _difference(first: set[str], second: set[str]) -> str:
    removed = [f"{name} is gone" for name in sorted(first - second)]
    return ", ".join([*removed, *(f"{name} is new" for name in sorted(second - first))])


async def _close_and_list_tasks(h: Harness) -> list[str]:
    await h.aclose()
    return tasks()


async def _list_tasks() -> list[str]:
    return tasks()


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        _fail(f"the entry point {point.name} = {point.value} cannot be imported: {error}")


def _fail(sentence: str) -> NoReturn:
    pytest.fail(sentence, pytrace=False)
