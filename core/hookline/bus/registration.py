"""Registers plugins: checks their hooks and stores the implementations in call order."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pluggy
from hookline_hookspecs import HOOKS, HookSpec, HookSpecs, Plugin
from hookline_hookspecs.hooks import PROJECT

from ..bus.implementation import Implementation, PluginRefused

Deadlines: TypeAlias = Mapping[str, float | None]
"""Seconds by hook (None for no deadline), overriding those of the specs."""


class _Manager(pluggy.PluginManager):
    """Examines only marked methods. pluggy examines every attribute, which takes 1 ms a plugin."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """The options of an implementation; None for any other attribute."""
        return super().parse_hookimpl_opts(plugin, name) if _mark(plugin, name) else None


class Registry:
    """The registered plugins' implementations by hook, in call order."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._manager = _Manager(PROJECT)
        self._manager.add_hookspecs(HookSpecs)
        self.table: dict[str, tuple[Implementation, ...]] = dict.fromkeys(HOOKS, ())

    def register(self, name: str, plugin: object, rank: int) -> None:
        """Add a plugin. A lower ``rank`` is called earlier, or later if the hook runs in reverse.

        Implementations with ``tryfirst`` are called before all others and those with ``trylast``
        after them, on every hook.

        Raises:
            PluginRefused: a hook is misspelled, unmarked, a wrapper or takes the wrong arguments;
                nothing of the plugin remains registered.
        """
        _check_hooks(plugin)  # rejects everything that pluggy would, but says what to do
        self._manager.register(plugin, name)
        for impl in self._implementations(name, plugin, rank):
            hook = impl.spec.name
            self.table[hook] = tuple(sorted((*self.table[hook], impl), key=lambda i: i.place))

    def unregister(self, name: str) -> None:
        """Remove a plugin and its implementations."""
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)
            for hook, found in self.table.items():
                self.table[hook] = tuple(impl for impl in found if impl.plugin != name)

    def _implementations(self, name: str, plugin: object, rank: int) -> Iterator[Implementation]:
        for caller in self._manager.get_hookcallers(plugin) or ():
            spec = HOOKS[caller.name]
            for found in caller.get_hookimpls():
                if found.plugin is plugin:
                    place = (found.trylast - found.tryfirst, -rank if spec.reverse else rank)
                    call = _adapt(found.function, found.argnames, spec)
                    own = plugin.hook_seconds if isinstance(plugin, Plugin) else {}
                    deadline = self._deadlines.get(spec.name, own.get(spec.name, spec.deadline))
                    streams = isinstance(plugin, Plugin) and plugin.preserves_streaming
                    yield Implementation(name, spec, deadline, found.function, call, place, streams)


def _mark(plugin: object, attribute: str) -> Any:
    return getattr(getattr(type(plugin), attribute, None), f"{PROJECT}_impl", None)


def _adapt(
    function: Callable[..., Any], argnames: tuple[str, ...], spec: HookSpec
) -> Callable[[Any, Any], Any]:
    """Wrap ``function`` so that it is called as ``(ctx, event)``; it may take fewer arguments."""
    names = tuple(argnames)
    if names == ("ctx", spec.event):
        return function
    if names == (spec.event,):
        return lambda _ctx, event: function(event)
    return lambda ctx, event: function(*(ctx if name == "ctx" else event for name in names))


def _check_hooks(plugin: object) -> None:
    """Raise ``PluginRefused`` for a hook that cannot be called as its author expects."""
    for attribute in dir(type(plugin)):
        options = _mark(plugin, attribute)
        if options is not None:
            _check_hook(plugin, attribute, options)
        elif attribute in HOOKS and callable(getattr(type(plugin), attribute, None)):
            raise PluginRefused(
                f"its method {attribute} is named like a hook but not marked as one, "
                f"so it would never be called; add @hookimpl above it, or rename it"
            )


def _check_hook(plugin: object, attribute: str, options: dict[str, Any]) -> None:
    hook = options.get("specname") or attribute
    if hook not in HOOKS:
        near = difflib.get_close_matches(hook, HOOKS, 1)
        hint = f"did you mean {near[0]}?" if near else "see `hookline hooks` for their names"
        raise PluginRefused(f"unknown hook '{hook}'; {hint}")
    if options.get("wrapper") or options.get("hookwrapper"):
        raise PluginRefused(
            f"{hook} is a pluggy wrapper, which Hookline does not support; "
            f"return middleware from around_model or around_tool instead"
        )
    function = getattr(plugin, attribute)
    parameters = inspect.signature(function).parameters.values()
    required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    unknown = [name for name in required if name not in ("ctx", HOOKS[hook].event)]
    if unknown:
        raise PluginRefused(
            f"{hook} is called with ctx and {HOOKS[hook].event}, "
            f"so it cannot take {unknown[0]}; arguments are passed by name"
        )
    if HOOKS[hook].sync and inspect.iscoroutinefunction(function):
        raise PluginRefused(f"{hook} is called synchronously; write `def`")
