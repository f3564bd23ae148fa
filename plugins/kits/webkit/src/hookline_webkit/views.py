"""What a page shows, as data: a :class:`View` of parts, which a renderer turns into HTML.

A plugin's page is a route whose handler returns a :class:`View`; it needs no HTML and no
JavaScript. Every text in a view is plain text, except that of :class:`Markdown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, TypeAlias

Tone: TypeAlias = Literal["neutral", "good", "warning", "bad"]
"""What a colour stands for; it is always said in words as well."""


@dataclass(frozen=True, slots=True)
class Link:
    """A text that leads to a path of this server, or to an ``http`` or ``https`` URL."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Badge:
    """A short state, such as ``on`` or ``failed``."""

    text: str
    tone: Tone = "neutral"


@dataclass(frozen=True, slots=True)
class Code:
    """A text shown letter by letter, in a fixed-width font; control characters are made visible."""

    text: str


@dataclass(frozen=True, slots=True)
class When:
    """A point in time, as Unix time in seconds; shown in the reader's own time zone."""

    at: float


@dataclass(frozen=True, slots=True)
class Action:
    """A button that sends ``fields`` to a path of this server.

    ``confirm`` is asked before; ``style`` is how much the button stands out. ``get`` makes it a
    link that changes nothing.
    """

    label: str
    path: str
    fields: Mapping[str, str] = field(default_factory=dict)
    confirm: str = ""
    style: Literal["default", "primary", "danger"] = "default"
    get: bool = False


Cell: TypeAlias = "str | int | float | Link | Badge | Code | When | None"
"""A cell of a table. A number is set to the right; None is an empty cell."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; an empty line separates paragraphs. ``tone`` makes it a notice."""

    text: str
    tone: Tone = "neutral"


@dataclass(frozen=True, slots=True)
class Markdown:
    """A Markdown text. Raw HTML in it is shown as text, and images are shown as links."""

    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, with buttons at its end and text that unfolds below it."""

    cells: Sequence[Cell]
    actions: Sequence[Action] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table. ``empty`` is shown in place of no rows, and says what would make some.

    ``more`` leads to the next rows.
    """

    columns: Sequence[str]
    rows: Sequence[Row]
    title: str = ""
    empty: str = "Nothing here yet."
    more: Link | None = None


@dataclass(frozen=True, slots=True)
class Stat:
    """A figure with its name, and a smaller text below."""

    label: str
    value: str
    detail: str = ""
    tone: Tone = "neutral"


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures side by side."""

    items: Sequence[Stat]


@dataclass(frozen=True, slots=True)
class Moment:
    """A step on a timeline.

    Attributes:
        title: what happened.
        who: the plugin, tool or model it belongs to.
        start: milliseconds after the timeline's beginning, or None if it is not known.
        ms: how long it took, in milliseconds.
        detail: what it changed or said; plain text of any length, folded.
        tone: what its colour stands for, such as ``bad`` for a refusal.
        children: steps within it.
    """

    title: str
    who: str = ""
    start: float | None = None
    ms: float | None = None
    detail: str = ""
    tone: Tone = "neutral"
    children: Sequence[Moment] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """Steps with their times; a renderer folds what comes after 200."""

    moments: Sequence[Moment]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart; a renderer shows its figures as a table, too.

    ``series`` maps a name to one figure for each label. ``unit`` is written behind the figures.
    """

    title: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[float]]
    kind: Literal["bar", "stacked", "line"] = "bar"
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed between two texts, shown line by line."""

    before: str
    after: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """An input of a form.

    ``secret`` is written and never shown: ``value`` says whether there is one. ``yaml`` is a text
    area for a value of any shape. ``choices`` belong to ``choice``; ``error`` is shown beside it.
    """

    name: str
    label: str = ""
    kind: Literal["text", "number", "switch", "choice", "long", "yaml", "secret", "hidden"] = "text"
    value: Any = ""
    choices: Sequence[str] = ()
    help: str = ""
    required: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """Inputs that are sent to a path of this server. ``get`` makes it a search, which changes
    nothing."""

    path: str
    fields: Sequence[Field]
    submit: str = "Save"
    title: str = ""
    confirm: str = ""
    get: bool = False


@dataclass(frozen=True, slots=True)
class Actions:
    """Buttons side by side."""

    items: Sequence[Action]


@dataclass(frozen=True, slots=True)
class Group:
    """Parts under a heading; folded if not ``open``."""

    title: str
    parts: Sequence[Part]
    open: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """What somebody said: ``who``, when (Unix time in seconds), and the parts of it."""

    who: str
    parts: Sequence[Part]
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation to read, from top to bottom."""

    entries: Sequence[Entry]


Part: TypeAlias = (
    "Text | Markdown | Table | Stats | Timeline | Chart | Diff | Form | Actions | Group "
    "| Transcript"
)


@dataclass(frozen=True, slots=True)
class View:
    """A page: its title, a line below it, and its parts from top to bottom.

    ``crumbs`` lead back to where it belongs. ``refresh`` is after how many seconds the page is
    worth reading again, 0 for never; ``status`` is the response's, such as 422 for a form that is
    shown again with its errors.
    """

    title: str
    parts: Sequence[Part] = ()
    subtitle: str = ""
    crumbs: Sequence[Link] = ()
    refresh: float = 0.0
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """What a handler returns after it has changed something: the path to go on with, and a
    sentence that is shown there once."""

    path: str
    message: str = ""
    tone: Tone = "good"


@dataclass(frozen=True, slots=True)
class Download:
    """What a handler returns for a file: it is saved under ``name``, never shown by the browser."""

    name: str
    body: bytes
    content_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Content:
    """What a handler returns for a body of its own: bytes, their type, and more headers."""

    body: bytes
    content_type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def plain(value: object) -> Any:
    """Return a view, or a part of one, as JSON values; each object has its class as ``type``."""
    if is_dataclass(value) and not isinstance(value, type):
        named = {one.name: plain(getattr(value, one.name)) for one in fields(value)}
        return {"type": type(value).__name__.lower(), **named}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(one) for one in value]
    return value
