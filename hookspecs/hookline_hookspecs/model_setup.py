"""The service ``ModelSetup``: sets up the model and its key, for pages that guide a person.

``terminal`` offers it; ``hookline init`` uses the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OfferedProvider:
    """A provider that a person may choose.

    Attributes:
        name: its name in config.yaml.
        title: what it is called.
        key: the variable of its key; empty if it takes none.
        key_is_set: whether there is a key already.
        address: its URL.
        asks_address: whether the person is asked for the address.
        is_current: whether the current model is one of its models.
    """

    name: str
    title: str
    key: str = ""
    key_is_set: bool = False
    address: str = ""
    asks_address: bool = False
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """What a person has chosen. An empty ``key`` keeps the one that is set, an empty ``address``
    the offered one."""

    provider: str
    address: str = ""
    key: str = field(default="", repr=False)
    model: str = ""


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models of a server, the one to prefer, and why there are none."""

    names: Sequence[str] = ()
    preferred: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelTrial:
    """The outcome of a test request: the model's answer, or the sentences of a failure."""

    answer: str = ""
    problems: Sequence[str] = ()


class ModelSetup(Protocol):
    """Offers providers, lists and tries their models, and stores the choice."""

    async def providers(self) -> Sequence[OfferedProvider]:
        """Return the installed providers, the servers found on this machine, and a new one."""

    def problem(self, answers: ModelAnswers) -> str:
        """Return what is wrong with an address, key or model as a sentence; empty if nothing."""

    async def models(self, answers: ModelAnswers) -> ModelList:
        """Return the models that the server lists."""

    async def test(self, answers: ModelAnswers) -> ModelTrial:
        """Send one request to the model, with nothing stored."""

    async def save(self, answers: ModelAnswers) -> str:
        """Store the model in config.yaml and the key in .env, and use them from now on.

        Returns ``provider/model``. Raises ``HooklineError`` if Hookline could not start with it,
        or a file cannot be written; nothing is changed then.
        """
