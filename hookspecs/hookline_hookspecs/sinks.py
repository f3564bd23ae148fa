"""Sinks: the arguments of a tool that decide to whom, on what and with what a call acts.

A tool declares them in its signature, as ``to: Annotated[str, Recipient()]``. The model's schema
does not change. ``provenance`` compares the values with what the person wrote and what was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

SinkKind: TypeAlias = Literal[
    "recipient", "target", "amount", "credential", "code", "content", "when"
]


@dataclass(frozen=True, slots=True)
class Sink:
    """What an argument decides.

    Attributes:
        kind: what it decides.
        of: the kind of thing that it names, as in :attr:`Handle.kind`, such as ``file``.
        guessed: read from a schema, not declared by the author of the tool.
    """

    kind: SinkKind
    of: str = ""
    guessed: bool = False


def Recipient(of: str = "") -> Sink:
    """Who receives: a mail address, handle, channel, phone number, IBAN, host or URL."""
    return Sink("recipient", of)


def Target(of: str = "") -> Sink:
    """The thing that is created, changed, deleted, shared, booked or paid, by id or by name."""
    return Sink("target", of)


def Amount() -> Sink:
    """How much: of money, or of anything that is paid for."""
    return Sink("amount")


def Credential() -> Sink:
    """A password, key or code that opens something."""
    return Sink("credential")


def Code() -> Sink:
    """A program, command or query that is run."""
    return Sink("code")


def Content() -> Sink:
    """What others will read, or what is kept."""
    return Sink("content")


def When() -> Sink:
    """A date or time."""
    return Sink("when")


def sink_in(annotation: Any) -> Sink | None:
    """Return the sink among the metadata of an ``Annotated`` type; None if there is none."""
    found = [one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, Sink)]
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Handle:
    """What an id stands for: a tool returns it with the text that shows the id.

    Attributes:
        kind: the kind of thing, such as ``file``.
        id: what tools take as an argument.
        label: what people call it, such as ``notes.txt``.
        related: the people who belong to it, such as the participants of an event, as tools take
            them. They count as named where a person names the label.
        directory: it stands in a list that only the person or their organisation writes, such as
            their contacts or the members of their team.
        about: more about the thing for people, such as ``1,100 to Landlord``.
    """

    kind: str
    id: str
    label: str
    related: tuple[str, ...] = ()
    directory: bool = False
    about: str = ""

    def to_json(self) -> list[Any]:
        """Return this handle as JSON-serializable data."""
        return [self.kind, self.id, self.label, list(self.related), self.directory, self.about]

    @classmethod
    def from_json(cls, data: Any) -> Handle:
        """Create a handle from the data that :meth:`to_json` returned."""
        kind, id_, label, related, directory, about = data
        return cls(kind, id_, label, tuple(related), bool(directory), about)


Sinks: TypeAlias = Mapping[str, Sink]
"""Sinks by the name of the argument."""
