"""The base class of every plugin."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from pydantic import BaseModel
from typing_extensions import TypeVar  # typing.TypeVar has defaults only from 3.13 on.

if TYPE_CHECKING:
    import logging

    from .hooks import HookSpecs
    from .host import Host

    class _Hooks(HookSpecs):
        """Every hook as a typed method, for type checkers only."""

else:

    class _Hooks:
        """Empty at run time, so that a plugin has only the hooks it defines."""


API = (1, 0)
"""The version of this contract: the first number changes when something is removed or changes its
meaning, the second when something is added."""


class NoConfig(BaseModel):
    """The configuration of a plugin without settings."""


C = TypeVar("C", bound=BaseModel, default=NoConfig)


class Plugin(_Hooks, Generic[C]):
    """A plugin: subclass it, optionally with a pydantic model of its settings.

    ``class Greeter(Plugin[GreeterConfig])`` finds its validated settings in ``self.config``.
    Methods decorated with ``@hookimpl`` are hooks, with ``@tool`` tools, with ``@command`` slash
    commands.
    """

    requires_api: ClassVar[tuple[int, int]] = (1, 0)
    """The contract version that the plugin was written for. The plugin is refused if the first
    number differs from that of :data:`API`, or the second is higher."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Names of other plugins that must be on."""
    multiple: ClassVar[bool] = False
    """True if config may name it several times: ``KIND:NAME``, with or without ``KIND`` itself.

    Each has its own settings, host and storage. ``host.plugin`` is its full name: the name of its
    channel, and part of the names of its tools and commands. If a channel is multiple, a user id
    must mean the same person in each and contain no colon.
    """
    hook_seconds: ClassVar[Mapping[str, float]] = {}
    """Seconds for hooks whose work has limits of its own, instead of the hook's deadline."""
    preserves_streaming: ClassVar[bool] = False
    """True if ``pre_reply`` never removes text, so that replies may still be streamed."""
    needs_restart: ClassVar[bool] = False
    """True if a process that runs cannot take the plugin when it is enabled, as is the case for
    every plugin with channels or routes."""
    config_class: ClassVar[type[BaseModel]] = NoConfig

    config: C
    host: Host
    log: logging.Logger

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            for argument in typing.get_args(base):
                if isinstance(argument, type) and issubclass(argument, BaseModel):
                    cls.config_class = argument

    def __init__(self, config: C, host: Host) -> None:
        """Called by core. Do any work in ``setup``."""
        self.config = config
        self.host = host
        self.log = host.log


def needs_restart(kind: type[Plugin[Any]]) -> bool:
    """Return True if a process takes plugins of this class only when it starts."""
    started = (getattr(kind, hook, None) for hook in ("register_channels", "register_routes"))
    return kind.needs_restart or any(hasattr(hook, "hookline_impl") for hook in started)
