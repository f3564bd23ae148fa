"""Values assigned to names that end in KEY, TOKEN, SECRET or PASSWORD: in code, config, notes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .assigned_values import AssignedValue, is_random, is_secret
from .secret_names import SecretName, Strength, find_name_endings, name_at
from .secret_references import is_reference
from .spans import Span
from .text_view import TextView

MAX_VALUE_CHARS = 1_024
"""Characters of the longest value that is found."""
_SIGN = re.compile(
    r"(?P<close>(?:\\?[\"'`]|\*{1,2}|_{1,2}|[\])}]){0,4})"
    r"(?:[ \t]{0,8}\([^()\n]{0,40}\))?(?:[ \t]{1,4}(?:string|str|text|\[\]byte)(?=[ \t]{0,4}=))?"
    r"[ \t]{0,20}"
    r"(?:(?P<typed>:[ \t]{0,4}[A-Za-z&'][\w\[\]<>.,|&?' ]{0,40}?[ \t]{0,4}=(?![=>])[ \t]{0,8})"
    r"|(?P<sign>={1,3}>?|:=|:|\?=|\+=|\|(?=[ \t][^|\n]{1,200}\|)))"
    r"(?P<mark>\*{1,2}|_{1,2})?[ \t]{0,20}(?:\*{1,2}(?=\w)|(?:[|>][+-]?)?[ \t]{0,4}\r?\n[ \t]{1"
    r",20})?"
)
_NEW_LINE = re.compile(r"[^|>+-][ \t]{0,4}\n[ \t]{1,20}\Z")
"""A line break without a YAML block sign: code follows, rarely a value."""
_QUOTES = re.compile(
    r"(?P<lead>[A-Za-z@$]{0,2})"
    r"(?P<quote>\\\"|\\'|\"\"\"|'''|&quot;|[\"'`“”‘’«„「])"
)
_CLOSING = {"“": "”", "„": "“”", "‘": "’", "«": "»", "「": "」", "”": "”", "’": "’"}
_PLAIN = re.compile(rf"[^\s\"'`<>]{{1,{MAX_VALUE_CHARS}}}|<[^<>\s]{{1,80}}>")
_STOP = re.compile(
    r"[;&,](?=\s|\Z|[A-Za-z_][\w .-]{0,40}[=:])|\\[nrt](?=\W|[A-Za-z_]|\Z)|\|(?=\s|\Z)|,(?=[\]}])"
)
_TAIL = re.compile(r"[)\]},.;:!?*]{1,6}\Z")
_ENV_LINE = re.compile(r"(?:^|\n)(?:[ \t]*(?:export|set|ENV)[ \t]+)?\Z")
_ELEMENT = re.compile(r"(?:[ \t][^<>]{0,200})?>[ \t]*(?P<value>[^<>\n]{1,400}?)[ \t]*</")
_OPTION = re.compile(
    r"[ \t]{1,4}(?P<value>[^\s\"'`<>|;&-][^\s\"'`<>|;&]{3,400}|\"[^\"\n]{4,400}\"|'[^'\n]{4,400}')"
)
_IS = re.compile(
    r"(?:[\"'`]|\*{1,2})?[ \t]{1,4}(?:is|was|are|ist|est|es|é|è|lautet|to|for [\w.@ -]{1,40} is"
    r"|of)[ \t]{1,4}(?:now |set to |jetzt )?"
    r"(?P<quote>[\"'`“]|\*{1,2})?(?P<value>[^\s\"'`”*]{4,200})(?P<close>[\"'`”*])?"
)
# PASSWORD 'hunter2', ("DB_PASSWORD", "hunter2"), パスワードは「hunter2」.
_NEXT = re.compile(
    r"(?:[\"'`]?[ \t]{0,2},[ \t]{0,4}|[ \t]{1,4}|[ \t]{0,2}(?:は|是|为|為|는|은)[ \t]{0,2})"
    r"(?P<quote>[\"'`「“]?)(?P<value>[^\s\"'`」”。，、]{4,200})(?P<close>[\"'`」”]?)"
)
_PAIRS = re.compile(
    r"\b(?:name|key|id)[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?P<name>[\w.-]{1,80})[\"']?[ \t]{0,"
    r"4},?\s{1,80}[\"']?value[\"']?"
    r"[ \t]{0,4}[:=][ \t]{0,4}(?P<quote>[\"']?)(?P<value>[^\"'\n]{1,400})",
    re.IGNORECASE,
)


def find_assignments(view: TextView) -> Iterator[Span]:
    """Find the values."""
    text = view.text
    for start, end, word in find_name_endings(view.lower):
        span = _find_value(text, start, end, word)
        if span is not None:
            yield span
    yield from _find_name_value_pairs(text)
    yield from _find_netrc_passwords(text)


def _find_value(text: str, start: int, end: int, word: str) -> Span | None:
    """The value that ``=``, ``:``, an element, an option or "is" assigns to the name here."""
    following = text[end : end + 1]
    if following and following not in "\"'`*_])} \t=:|\\>?+(\r\nは是为為는은":
        return None
    sign = _SIGN.match(text, end)
    element = _ELEMENT.match(text, end) if sign is None and following in "> " else None
    if sign is None and element is None and following not in tuple(" \t\"'`*は是为為는은"):
        return None
    name = name_at(text, start, end, word)
    if name is None or name.strength is Strength.NONE or _in_assignment_chain(text, name.start):
        return None
    if sign is not None:
        return _value_after_sign(text, name, sign)
    if element is not None and text[name.start - 1 : name.start] == "<":
        return _secret_span(name, text, element.span("value"), quoted=True)
    return (
        _value_of_option(text, name) or _value_after_is(text, name) or _adjacent_value(text, name)
    )


def _in_assignment_chain(text: str, start: int) -> bool:
    """Whether more ``=`` precede than in any line of arguments; this bounds the work."""
    front = text[max(0, start - 64) : start]
    return front.count("=") > 4 and not any(char.isspace() for char in front)


def _value_after_sign(text: str, name: SecretName, sign: re.Match[str]) -> Span | None:
    at = sign.end()
    kind = "=" if sign["typed"] or (sign["sign"] or "").startswith(("=", ":=", "?=", "+=")) else ":"
    opened = _QUOTES.match(text, at)
    if opened is not None:
        begin = opened.end()
        close = _closing_quote(text, begin, opened["quote"])
        if close is None:
            return None
        value = AssignedValue(
            text[begin:close], True, kind, _rest_of_line(text, close + len(opened["quote"]))
        )
        if sign["sign"] in ("==", "===") and not is_random(value.text):
            return None
        return Span(begin, close, name.kind) if is_secret(name, value) else None
    plain = _PLAIN.match(text, at)
    if plain is None or sign["sign"] in ("==", "==="):
        return None
    stop = _value_end(text, name, at, plain.end(), kind)
    if _NEW_LINE.search(sign[0]) and not _looks_random(text[at:stop]):
        return None
    value = AssignedValue(text[at:stop], False, kind, _rest_of_line(text, stop))
    return Span(at, stop, name.kind) if value.text and is_secret(name, value) else None


def _closing_quote(text: str, begin: int, quote: str) -> int | None:
    """The index of the closing quote; a backslash escapes."""
    limit = min(len(text), begin + MAX_VALUE_CHARS)
    closing = _CLOSING.get(quote, quote)
    at = begin
    while at < limit:
        if text[at] == "\\" and not quote.startswith("\\"):
            at += 2
            continue
        if (len(quote) > 1 and text.startswith(quote, at)) or (
            len(quote) == 1 and text[at] in closing
        ):
            return at
        if text[at] == "\n" and len(quote) == 1:
            return None
        at += 1
    return None


def _value_end(text: str, name: SecretName, start: int, end: int, kind: str) -> int:
    """The end of an unquoted value: at a space in an env file, else at a delimiter."""
    line = text[max(0, name.start - 40) : name.start]
    if kind == "=" and _ENV_LINE.search(line) and (name.start < 40 or "\n" in line):
        return end
    stop = _STOP.search(text, start, end)
    end = stop.start() if stop else end
    tail = _TAIL.search(text, start, end)
    if tail is not None and not _has_own_brackets(text[start:end]):
        end = tail.start()
    return end


def _has_own_brackets(value: str) -> bool:
    """Whether the closing bracket belongs to the value, as in ``${X}`` and ``f(x)``."""
    return value[-1] in ")]}" and any(
        value.count(a) == value.count(b) > 0 for a, b in ("()", "[]", "{}")
    )


def _rest_of_line(text: str, end: int) -> str:
    line = text.find("\n", end, end + 80)
    return text[end : line if line >= 0 else end + 80]


def _secret_span(
    name: SecretName, text: str, place: tuple[int, int], *, quoted: bool
) -> Span | None:
    value = AssignedValue(text[slice(*place)], quoted, ":", _rest_of_line(text, place[1]))
    return Span(*place, name.kind) if is_secret(name, value) else None


def _value_of_option(text: str, name: SecretName) -> Span | None:
    """``--password hunter2``, ``ENV API_KEY abc1``: a space assigns."""
    line = text.rfind("\n", max(0, name.start - 20), name.start) + 1
    front = text[max(line, name.start - 20) : name.start]
    if not re.search(r"(?:^|\s)(?:--?|(?:ENV|ARG|setx|set)\s)\Z", front):
        return None
    found = _OPTION.match(text, name.end)
    if found is None:
        return None
    start, end = found.span("value")
    if text[start] in "\"'":
        start, end = start + 1, end - 1
    value = text[start:end]
    return Span(start, end, name.kind) if _looks_random(value) and not is_reference(value) else None


def _value_after_is(text: str, name: SecretName) -> Span | None:
    """``the password is hunter2``: a value with digits or signs among its letters."""
    if name.word == "key" and name.strength < Strength.STRONG:
        return None
    found = _IS.match(text, name.end)
    if found is None or is_reference(found["value"]):
        return None
    start, end = found.span("value")
    tail = _TAIL.search(text, start, end)
    end = tail.start() if tail else end
    value = text[start:end]
    if (
        len(value) < 5
        or not _looks_random(value)
        or re.match(r"(?:https?:|/|~/|\$|v?\d+[.-])", value)
    ):
        return None
    return Span(start, end, name.kind)


def _adjacent_value(text: str, name: SecretName) -> Span | None:
    """A quoted value directly after a name, or after a particle that means "is"."""
    found = _NEXT.match(text, name.end)
    if found is None or name.strength < Strength.STRONG or is_reference(found["value"]):
        return None
    particle = text[name.end : found.start("value")].strip(" \t\"'`「“")
    if not (found["quote"] and found["close"]) and particle in ("", ","):
        return None
    return Span(*found.span("value"), name.kind) if _looks_random(found["value"]) else None


def _looks_random(value: str) -> bool:
    """Whether a value mixes letters with digits or signs, or has digits only."""
    if re.fullmatch(r"\d{4,}", value):
        return True
    letters = any(char.isalpha() for char in value)
    return letters and bool(re.search(r"\d|[!@#$%^&*+=~]", value)) and not value.endswith("()")


def _find_name_value_pairs(text: str) -> Iterator[Span]:
    """Find ``name: DB_PASSWORD`` followed by ``value: …``, as in Kubernetes and compose files."""
    at = text.find("value")
    seen = -1
    while at >= 0:
        found = _PAIRS.search(text, max(seen, at - 180, 0), at + 420)
        if found is not None:
            seen = found.end()
            for start, end, word in find_name_endings(found["name"].lower()):
                name = name_at(found["name"], start, end, word)
                if name is not None and end == len(found["name"]):
                    place = (
                        found.start("value"),
                        found.start("value") + len(found["value"].rstrip()),
                    )
                    span = _secret_span(name, text, place, quoted=True)
                    if span is not None:
                        yield span
        at = text.find("value", max(at + 5, seen))


def _find_netrc_passwords(text: str) -> Iterator[Span]:
    """Find ``machine … login … password …``."""
    at = text.find("login ")
    while at >= 0:
        found = re.compile(r"login\s{1,4}\S{1,100}\s{1,8}password\s{1,4}(\S{1,200})").match(
            text, at
        )
        if found is not None and not is_reference(found[1]):
            yield Span(*found.span(1), "token")
        at = text.find("login ", at + 6)
