"""The languages of pages: reads the catalogues of installed plugins and chooses one for a reader.

A catalogue is ``locale/LANGUAGE/messages.po`` in a package, such as ``locale/zh_Hans``. Babel is
imported for languages other than English only.
"""

from __future__ import annotations

import gettext
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from hookline_hookspecs.web import ENGLISH, Language
from hookline_hookspecs.web.finished_text import templates

COOKIE = "hookline-language"
"""The cookie with the language that a person has chosen; without it the browser decides."""
GROUPS = "hookline."
"""How the groups of entry points begin that name packages of plugins, commands and providers."""
COMMON = (
    "hookline_hookspecs",
    "hookline",
    "hookline_channelkit",
    "hookline_gitsource",
    "hookline_providerkit",
    "hookline_sandbox",
    "hookline_webkit",
)
"""Packages without entry points that have catalogues."""
TRADITIONAL = ("zh-tw", "zh-hk", "zh-mo")
LIKELY = {
    **dict.fromkeys(("zh", "zh-cn", "zh-sg", "zh-my"), "zh-hans"),
    **dict.fromkeys(TRADITIONAL, "zh-hant"),
}
"""Tags of browsers that name a script by its country."""
INSTEAD = {"zh-hant": "zh-hans"}
"""What readers of a language without a catalogue read more easily than English."""
TABLE_SIZE = 200
"""Counts whose plural form a page knows; larger ones repeat the last hundred."""


def folder_of(package: str) -> Path | None:
    """Return the folder of an installed package, which is not imported; None if it is missing."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None


@cache
def packages() -> Sequence[str]:
    """Return the packages of all that is installed, by name."""
    installed = entry_points()
    found = {
        one.value.partition(":")[0].partition(".")[0]
        for group in installed.groups
        if group.startswith(GROUPS)
        for one in installed.select(group=group)
    }
    return (*COMMON, *sorted(found - set(COMMON)))


def languages_of(package: str) -> list[str]:
    """Return the languages into which a package is translated, such as ``zh-Hans``."""
    folder = folder_of(package)
    files = folder.glob("locale/*/messages.po") if folder is not None else ()
    return sorted(file.parent.name.replace("_", "-") for file in files)


def read_catalogue(package: str, code: str) -> Any:
    """Return a package's ``babel.messages.Catalog`` for a language; None if it has none."""
    folder = folder_of(package)
    file = folder / "locale" / code.replace("-", "_") / "messages.po" if folder else None
    if file is None or not file.is_file():
        return None
    from babel.messages.pofile import read_po

    with file.open("rb") as opened:
        return read_po(opened, locale=code.replace("-", "_"))


def translations(
    catalogue: Iterable[Any], *, plurals: bool = False
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each translated sentence of a catalogue with its plural forms, with ``plurals`` also
    by its plural."""
    for message in catalogue:
        many = isinstance(message.id, tuple)
        keys = message.id if many else (message.id,)
        forms = tuple(message.string) if many else (message.string,)
        if keys[0] and all(forms) and not message.fuzzy:
            yield from ((key, forms) for key in (keys if plurals else keys[:1]))


@cache
def load(code: str) -> Language:
    """Return a language with the translations of all installed plugins.

    If two translate the same sentence, the first package by name wins.
    """
    if code == ENGLISH.code:
        return ENGLISH
    from babel import Locale
    from babel.dates import format_skeleton
    from babel.numbers import format_decimal

    locale = Locale.parse(code, sep="-")
    messages: dict[str, Sequence[str]] = {}
    plural = ENGLISH.plural
    for package in packages():
        if (catalogue := read_catalogue(package, code)) is not None:
            plural = gettext.c2py(catalogue.plural_expr)
            for key, forms in translations(catalogue, plurals=True):
                messages.setdefault(key, forms)
    direction: Literal["ltr", "rtl"] = "rtl" if locale.text_direction == "rtl" else "ltr"

    def number(value: float, decimals: int | None = None) -> str:
        digits = ".##" if decimals is None else f".{'0' * decimals}" if decimals else ""
        return format_decimal(value, f"#,##0{digits}", locale=locale)

    def day(value: date) -> str:
        return format_skeleton("MMMd", value, locale=locale)

    known = tuple(sorted(templates(messages), key=lambda one: -len(one.sentence)))
    return Language(code, direction, messages, plural, number, day, known)


def for_page(package: str, code: str) -> dict[str, Any]:
    """Return what a package's JavaScript needs of a language: its messages and plural forms."""
    catalogue = read_catalogue(package, code)
    if catalogue is None:
        return {"messages": {}, "plurals": []}
    messages = {
        key: forms[0] if len(forms) == 1 else forms
        for key, forms in translations(one for one in catalogue if _is_in_javascript(one))
    }
    plural = load(code).plural
    return {"messages": messages, "plurals": [plural(n) for n in range(TABLE_SIZE)]}


def _is_in_javascript(message: Any) -> bool:
    return any(place.endswith(".js") for place, _ in message.locations)


def chosen_language(cookies: str) -> str:
    """Return the language that the header ``Cookie`` names, or an empty string."""
    pairs = (one.strip().partition("=") for one in cookies.split(";"))
    return next((value for name, _, value in pairs if name == COOKIE), "")


def choose(available: Iterable[str], wanted: str, accepted: str) -> str:
    """Return the language for a reader.

    Args:
        available: tags of the languages that there are, besides English.
        wanted: the tag that the person has chosen, or an empty string.
        accepted: the request's header ``Accept-Language``.
    """
    known = {code.lower(): code for code in (ENGLISH.code, *available)}
    if wanted.lower() in known:
        return known[wanted.lower()]
    for tag in _by_preference(accepted):
        while tag:
            for one in (tag, LIKELY.get(tag, tag), INSTEAD.get(LIKELY.get(tag, tag), "")):
                if one in known:
                    return known[one]
            tag = tag.rpartition("-")[0]
    return ENGLISH.code


def _by_preference(header: str) -> Iterator[str]:
    """Yield the tags of ``Accept-Language`` in lower case, the most wanted first."""
    rated: list[tuple[float, str]] = []
    for one in header.split(",")[:20]:
        tag, _, weight = one.strip().partition(";")
        try:
            rate = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        if rate > 0:
            rated.append((-rate, tag.strip().lower()))
    yield from (tag for _, tag in sorted(rated, key=lambda one: one[0]))


def names(available: Iterable[str]) -> Mapping[str, str]:
    """Return each language with its name in itself: ``{"de": "Deutsch"}``."""
    from babel import Locale

    found = {code: Locale.parse(code, sep="-").get_display_name() or code for code in available}
    return {ENGLISH.code: "English"} | {
        code: name[:1].upper() + name[1:] for code, name in found.items()
    }
