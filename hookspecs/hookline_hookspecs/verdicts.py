"""The verdicts of guards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .origins import Origin
from .permissions import OfferedScope


@dataclass(frozen=True, slots=True)
class Deny:
    """Verdict: refused. ``reason`` is a sentence for the model, ``shown`` one for the person.

    Without ``shown``, the person reads the reason.
    """

    reason: str
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Denial:
    """A guard hook returned ``Deny`` (signal ``denied``).

    ``event`` is the event of ``hook`` as ``plugin``, which denied it, received it.
    """

    hook: str
    plugin: str
    event: Any
    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Verdict: a person decides. ``preview`` is literal text they must see, never truncated.

    Without a preview they see the call's arguments. ``details`` are lines about the reason, which
    are shown before it.

    ``marks`` are the parts of ``preview`` that the reason is about; they are emphasized. With
    ``once``, the answer applies to this call only: no grant covers it, and none can be given.
    ``answered_by_rules`` says that the guard does not ask where a permission rule allows the call,
    so that an approval can offer to add such a rule. ``scopes`` are what the guard itself offers to
    allow beyond this call; it remembers them.
    """

    reason: str
    preview: str = ""
    once: bool = False
    marks: tuple[str, ...] = ()
    answered_by_rules: bool = False
    scopes: tuple[OfferedScope, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """Verdict: the result is already known (for example, a cache hit); the tool does not run.

    Without ``origins``, those that the tool declares apply.
    """

    text: str
    origins: tuple[Origin, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Continue:
    """What ``post_answer`` returns: the turn is not finished, because of ``reason``.

    The model reads it after its answer. ``origins`` say where the reason came from, unless the
    plugin wrote it itself.

    Raises:
        ValueError: the reason is empty.
    """

    reason: str
    origins: tuple[Origin, ...] = ()

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError("Continue needs a reason, which the model reads")


Verdict: TypeAlias = Deny | Ask | Answer
