"""The content of a page as data: a :class:`View` and its parts, which ``web-ui`` renders as HTML.

A plugin's page is a route whose handler returns a :class:`View`. It needs no HTML and no
JavaScript. All text in a view is plain text, except in :class:`Markdown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, TypeAlias

from .language import N_

Tone: TypeAlias = Literal["neutral", "good", "warning", "bad"]
"""The meaning of a colour. The text must say the same in words."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a path of this server, or to an ``http`` or ``https`` URL."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Badge:
    """A short state, such as ``on`` or ``failed``."""

    text: str
    tone: Tone = "neutral"


@dataclass(frozen=True, slots=True)
class Code:
    """Literal text in a fixed-width font, with control characters made visible."""

    text: str


@dataclass(frozen=True, slots=True)
class Named:
    """A name for people, which is pressed to see the id that commands and files use."""

    text: str
    id: str


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A point in time as Unix time in seconds, shown in the reader's time zone."""

    at: float


@dataclass(frozen=True, slots=True)
class Action:
    """A button that sends ``fields`` to a path of this server.

    ``confirm`` is a question to ask first. With ``get`` it is a link that changes nothing.
    """

    label: str
    path: str
    fields: Mapping[str, str] = field(default_factory=dict)
    confirm: str = ""
    style: Literal["default", "primary", "danger"] = "default"
    get: bool = False


Cell: TypeAlias = "str | int | float | Link | Badge | Code | Named | Timestamp | None"
"""A table cell. Numbers are aligned to the right; None is an empty cell."""


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs, separated by empty lines. Any ``tone`` but ``neutral`` makes them a notice."""

    text: str
    tone: Tone = "neutral"


@dataclass(frozen=True, slots=True)
class Markdown:
    """Markdown. Raw HTML is shown as text, and images as links."""

    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A table row, with buttons at its end and a ``detail`` that unfolds below it."""

    cells: Sequence[Cell]
    actions: Sequence[Action] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    ``empty`` is shown when there are no rows and says how rows come about. ``more`` links to the
    next rows.
    """

    columns: Sequence[str]
    rows: Sequence[Row]
    title: str = ""
    empty: str = N_("Nothing here yet.")
    more: Link | None = None


@dataclass(frozen=True, slots=True)
class Stat:
    """A figure with its name, and a smaller text below it."""

    label: str
    value: str
    detail: str = ""
    tone: Tone = "neutral"


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures side by side."""

    items: Sequence[Stat]


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """A step on a timeline.

    Attributes:
        title: what happened.
        who: the plugin, tool or model that did it.
        start: milliseconds since the start of the timeline; None if unknown.
        ms: duration in milliseconds; None if unknown.
        detail: what it changed or returned; plain text of any length, shown folded.
        tone: the meaning of its colour, such as ``bad`` for a refusal.
        children: the steps within it.
    """

    title: str
    who: str = ""
    start: float | None = None
    ms: float | None = None
    detail: str = ""
    tone: Tone = "neutral"
    children: Sequence[TimelineStep] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """Steps with their times. Renderers fold those after the first 200."""

    steps: Sequence[TimelineStep]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, shown together with a table of its figures.

    ``series`` maps each name to one figure per label. ``unit`` is written after the figures.
    """

    title: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[float]]
    kind: Literal["bar", "stacked", "line"] = "bar"
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference between two texts, line by line."""

    before: str
    after: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """An input of a form.

    A ``secret`` can be set but is never shown; its ``value`` is whether there is one. ``yaml`` is a
    text area for a value of any shape. ``choices`` are the options of a ``choice``, and ``labels``
    what some of them are called. ``error`` is shown next to the input, and ``key``, the name of a
    setting in config.yaml, next to the label.
    """

    name: str
    label: str = ""
    kind: Literal["text", "number", "switch", "choice", "long", "yaml", "secret", "hidden"] = "text"
    value: Any = ""
    choices: Sequence[str] = ()
    help: str = ""
    required: bool = False
    error: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    key: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """Inputs that are sent to a path of this server. With ``get`` the form is a search and changes
    nothing."""

    path: str
    fields: Sequence[Field]
    submit: str = N_("Save")
    title: str = ""
    confirm: str = ""
    get: bool = False


@dataclass(frozen=True, slots=True)
class Actions:
    """Buttons side by side."""

    items: Sequence[Action]


@dataclass(frozen=True, slots=True)
class Group:
    """Parts under a heading, folded unless ``open``."""

    title: str
    parts: Sequence[Part]
    open: bool = True


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """One message of a transcript: its author, its parts, and its Unix time in seconds."""

    who: str
    parts: Sequence[Part]
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation, oldest message first."""

    entries: Sequence[TranscriptEntry]


Part: TypeAlias = (
    "Text | Markdown | Table | Stats | Timeline | Chart | "
    "Diff | Form | Actions | Group | Transcript"
)


@dataclass(frozen=True, slots=True)
class View:
    """A page: its title, a subtitle, and its parts from top to bottom.

    ``crumbs`` link to the pages above it. ``refresh`` is the number of seconds after which the page
    reloads; 0 is never. ``status`` is the HTTP status, such as 422 for a form that is shown again
    with its errors.
    """

    title: str
    parts: Sequence[Part] = ()
    subtitle: str = ""
    crumbs: Sequence[Link] = ()
    refresh: float = 0.0
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """Returned by a handler that has changed something: the path to show next, and a message that
    is shown there once."""

    path: str
    message: str = ""
    tone: Tone = "good"


@dataclass(frozen=True, slots=True)
class Download:
    """Returned by a handler for a file, which the browser saves as ``name`` and never displays."""

    name: str
    body: bytes
    content_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Content:
    """Returned by a handler for a body of any other type."""

    body: bytes
    content_type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def view_as_json(value: object) -> Any:
    """Return a view, or a part of one, as JSON values.

    The ``type`` of each object is its class name in lower case.
    """
    if is_dataclass(value) and not isinstance(value, type):
        named = {one.name: view_as_json(getattr(value, one.name)) for one in fields(value)}
        return {"type": type(value).__name__.lower(), **named}
    if isinstance(value, Mapping):
        return {str(key): view_as_json(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [view_as_json(one) for one in value]
    return value
