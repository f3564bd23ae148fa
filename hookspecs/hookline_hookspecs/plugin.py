"""The base class of every plugin."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from pydantic import BaseModel
from typing_extensions import TypeVar  # Python's own has defaults from 3.13 on.

if TYPE_CHECKING:
    import logging

    from .hooks import HookSpecs
    from .host import Host

    class _Hooks(HookSpecs):
        """Every hook as a typed method, for type checkers alone."""

else:

    class _Hooks:
        """Empty at run time, so that only what a plugin defines is a hook."""


API = (2, 0)
"""The version of this contract. The first number changes when something is taken away; a plugin for
an earlier one still loads."""


class NoConfig(BaseModel):
    """The configuration of a plugin that has none."""


C = TypeVar("C", bound=BaseModel, default=NoConfig)


class Plugin(_Hooks, Generic[C]):
    """A plugin: subclass it, optionally with a pydantic model of its settings.

    ``class Greeter(Plugin[GreeterConfig])`` finds its validated settings in ``self.config``.
    Methods marked ``@hookimpl`` are hooks, ``@tool`` tools, ``@command`` slash commands.
    """

    requires_api: ClassVar[tuple[int, int]] = (1, 0)
    """The version of the contract the plugin was written for; a newer one is refused."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Names of plugins that must be on as well."""
    adds_to_reply_only: ClassVar[bool] = False
    """True if ``pre_reply`` never takes words away, so that streaming may go on."""
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
        """Core makes the plugin; ``setup`` is the place for work."""
        self.config = config
        self.host = host
        self.log = host.log
