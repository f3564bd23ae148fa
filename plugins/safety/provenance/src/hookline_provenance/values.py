"""Values that decide where something goes: found in texts, and written in one form to compare.

Nothing is compared but whole values of one kind. Letters are compared as they are: what only looks
the same is another value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

ValueKind: TypeAlias = Literal["mail", "url", "host", "iban", "phone", "handle", "number"]
MIN_NUMBER_DIGITS = 8
"""Digits of a number that is compared by its digits; account numbers have at least eight."""
MIN_NAME_CHARS = 3
"""Characters of a name that words can name."""
_URL = re.compile(r"(?<![\w@.-])(?:https?://|www\.)[^\s<>\"'`)\]}|]+", re.IGNORECASE)
_NOT_MAIL = r"\s<>\"'`(),;:\[\]{}|=/@"
_MAIL = re.compile(
    rf"(?<![^{_NOT_MAIL}])[^{_NOT_MAIL}]{{1,64}}@[^{_NOT_MAIL}]{{1,255}}\.[^{_NOT_MAIL}.]{{2,63}}"
)
_IBAN = re.compile(
    r"(?<![\w])[A-Z]{2}\d{2}(?:[A-Z0-9]{8,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)(?!\w)"
)
_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?(?!\d)|\d{1,2}:\d{2}")
_PHONE = re.compile(r"\+\d[\d ()./-]{6,18}\d")
_NUMBER = re.compile(r"(?<![\w.])\d(?:[ .-]?\d){7,33}(?!\w)")
_HANDLE = re.compile(r"(?<![\w@./])@[\w.-]*\w")
_HOST = re.compile(
    r"(?<![\w@.-])(?:[^\W_](?:[\w-]*[^\W_])?\.)+[a-z][a-z0-9-]*[a-z0-9](?:/[^\s<>\"'`)\]}|]*)?",
    re.IGNORECASE,
)
_GLUED = re.compile(r"^((?:https?://)?[a-z0-9.-]+\.[a-z]{2,})\.[A-Z][a-z]+$")
_TAIL = ".,;:!?*_"
"""Marks at the end of a word that are no part of an address."""
_FILE_ENDINGS = frozenset(
    """md txt rst py js jsx ts tsx json yaml yml toml ini cfg conf lock xml html css csv pdf png
    jpg jpeg gif svg sh ps pl rs go rb java kt cc cpp hs so log sql zip mov gz tar db env bak tmp
    docx xlsx pptx ipynb mp3 mp4 wav app""".split()  # noqa: SIM905
)
"""What looks like the name of a host and is the name of a file."""
_FUNCTION_WORDS = frozenset(
    """all and any are ask but can did for from get had has have her here him his how its just let
    may new not now one our out own per put say see she some than that the their them then there
    they this was way what when where which who will with you your""".split()  # noqa: SIM905
)
"""Words that stand in most sentences and name nobody."""
_WORD = re.compile(r"[^\s\"'`“”‘’„«»()\[\]{}<>|,;!?\\]+")
_QUOTE_TAIL = re.compile(r"(?:['’]s)?[.:]*$")
_PLACEHOLDER = re.compile(r"\\\{[^{}]{1,40}\\\}|<[^<>]{1,40}>")


@dataclass(frozen=True, slots=True)
class Value:
    """A value in the form in which it is compared."""

    kind: ValueKind
    text: str


def find_values(text: str) -> set[Value]:
    """Every value in a text."""
    return set(_find(text))


def hosts_of(values: Iterable[Value]) -> set[str]:
    """The hosts that are named as such or in a URL; never those of mail addresses."""
    return {host_part(one.text) for one in values if one.kind in ("url", "host")}


def host_part(plain: str) -> str:
    """The host of a URL in the form of :func:`plain_url`, without its port."""
    return re.split(r"[/?:]", plain, maxsplit=1)[0]


def _find(text: str) -> Iterator[Value]:
    """Yield the values; each part of the text counts once, and dates for none."""
    found: list[Value] = []
    rest = text
    for pattern, make in _PATTERNS:

        def take(match: re.Match[str], make: _Maker = make) -> str:
            value = make(match.group().rstrip(_TAIL))
            if value is None:
                return match.group()
            if value.text:
                found.append(value)
            return " "

        rest = pattern.sub(take, rest)
    yield from found


def plain_url(text: str) -> str:
    """A URL without its scheme and fragment, its host in lower case, for comparison."""
    bare = re.sub(r"^https?://", "", text.strip(), flags=re.IGNORECASE).partition("#")[0]
    host, slash, path = bare.rstrip(_TAIL).rstrip("/").partition("/")
    host, query, more = host.partition("?")
    return f"{host.lower()}{query}{more}{slash}{path}"


def _mail(text: str) -> Value | None:
    return Value("mail", text.lower())


def _url(text: str) -> Value | None:
    # "www.a.example.They": the next sentence begins without a space.
    return Value("url", plain_url(_GLUED.sub(r"\1", text)))


def _host(text: str) -> Value | None:
    name = text.partition("/")[0]
    if name.rpartition(".")[2].lower() in _FILE_ENDINGS:
        return None
    return Value("url" if "/" in text else "host", plain_url(text))


def _iban(text: str) -> Value | None:
    return Value("iban", text.replace(" ", "")) if sum(map(str.isdigit, text)) >= 8 else None


def _digits(kind: ValueKind, text: str) -> Value | None:
    digits = "".join(filter(str.isdigit, text))
    return Value(kind, digits) if len(digits) >= MIN_NUMBER_DIGITS else None


_Maker: TypeAlias = Callable[[str], Value | None]
_PATTERNS: tuple[tuple[re.Pattern[str], _Maker], ...] = (
    (_URL, _url),
    (_MAIL, _mail),
    (_IBAN, _iban),
    (_HOST, _host),
    (_PHONE, lambda text: _digits("phone", text)),
    (_HANDLE, lambda text: Value("handle", text.lower())),
    (_DATE, lambda _: Value("number", "")),
    (_NUMBER, lambda text: _digits("number", text)),
)


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared: in lower case, without quotes and ``#``."""
    found = (_QUOTE_TAIL.sub("", word).lstrip("#") for word in _WORD.findall(text.casefold()))
    return [word for word in found if word]


def joined(text: str) -> str:
    """The words of a text in a form in which :func:`holds_name` looks names up."""
    return f" {' '.join(words_of(text))} "


def can_be_named(name: str) -> bool:
    """True if words can name it: a name, not a short number and no word of every sentence."""
    plain = name.strip().casefold()
    is_name = any(char.isalpha() for char in plain) and len(plain) >= MIN_NAME_CHARS
    return is_name and plain not in _FUNCTION_WORDS


def holds_name(words: str, name: str) -> bool:
    """True if the words, which :func:`joined` made, name ``name`` in this order."""
    if not can_be_named(name):
        return False
    for form in (name, _title(name)):
        wanted = words_of(form)
        if not wanted or (len(wanted) == 1 and not can_be_named(wanted[0])):
            continue
        if f" {' '.join(wanted)} " in words:
            return True
    return False


def _title(name: str) -> str:
    """A file's name as people say it: ``grocery-list.docx`` is the grocery list."""
    stem, dot, ending = name.rpartition(".")
    if not dot or not ending.isalnum() or len(ending) > 5 or " " in ending:
        return name
    return re.sub(r"[-_]+", " ", stem)


@lru_cache(256)
def _templates(text: str) -> tuple[re.Pattern[str], ...]:
    """The quoted parts of a text that hold placeholders, such as 'Dinner at {restaurant}'."""
    quoted = re.findall(r"[\"'“‘]([^\"'“”‘’\n]*\{[^{}\n]{1,40}\}[^\"'“”‘’\n]*)[\"'”’]", text)
    made = (_PLACEHOLDER.sub("[^\\\\n]{1,80}", re.escape(one.strip())) for one in quoted)
    kept = [(one, pattern) for one, pattern in zip(quoted, made, strict=True)]
    return tuple(
        re.compile(pattern, re.IGNORECASE)
        for one, pattern in kept
        if any(can_be_named(word) for word in words_of(re.sub(r"\{[^{}]*\}", " ", one)))
    )


def fits_template(text: str, name: str) -> bool:
    """True if ``name`` is what a person wrote with a placeholder, which something read fills."""
    return "{" in text and any(one.fullmatch(name.strip()) for one in _templates(text))
