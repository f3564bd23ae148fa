"""Signals, and the services that plugins offer each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Signals(Protocol):
    """Notifications of past events. A receiver is called as ``receiver(event, ctx=…)``."""

    def connect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Subscribe ``receiver`` to the signal ``name`` until the plugin is torn down."""

    def disconnect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Unsubscribe ``receiver`` from the signal ``name``."""

    def send(self, name: str, event: object) -> None:
        """Send ``event`` to every receiver; an error in one does not affect the others."""


class ServiceType(Protocol[T_co]):
    """The class that identifies a service, for type checkers; unlike ``type[T]`` it may be a
    protocol. Never called."""

    def __call__(self, *args: Any, **kwargs: Any) -> T_co:
        """Return an instance of the class."""


class Services(Protocol):
    """Services that plugins provide for each other, without importing each other.

    A service is identified by its protocol: ``host.services[Access]`` is an ``Access``.
    """

    def provide(self, protocol: ServiceType[T], service: T) -> None:
        """Offer ``service`` under ``protocol`` until the plugin is torn down.

        Raises ``ValueError`` if another plugin already offers it.
        """

    def __getitem__(self, protocol: ServiceType[T]) -> T:
        """Return the service offered under ``protocol``. Raises ``KeyError`` if there is none."""

    def get(self, protocol: ServiceType[T]) -> T | None:
        """Return the service offered under ``protocol``, or None."""

    def add(self, protocol: ServiceType[T], service: T) -> None:
        """Offer ``service`` in addition to those that other plugins add under ``protocol``, until
        the plugin is torn down."""

    def all(self, protocol: ServiceType[T]) -> list[T]:
        """Return every service added under ``protocol``, in the order of the plugins' setup."""
