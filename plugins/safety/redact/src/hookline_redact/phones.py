"""Phone numbers: international ones, and national ones of one region.

What a valid number is says ``phonenumbers`` (Google's libphonenumber). Digits are also many other
things, so that a number without any grouping counts only where a word says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .spans import Span
from .surroundings import Words, in_url, stands_alone
from .view import View

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber

_GAP = r"(?:[ .\-/]|\(|\)|\)[ .\-]|[ .]\(| - )"
_INTERNATIONAL = re.compile(rf"\+ ?(?:\(\d{{1,3}}\)|\d)(?:{_GAP}?\d){{6,14}}(?!\d)")
_PREFIXED = re.compile(rf"(?<!\d)(?:00|011[ .\-]?)(?=[1-9])\d(?:{_GAP}?\d){{7,14}}(?!\d)")
_NATIONAL = re.compile(rf"(?<!\d)\(?\d(?:{_GAP}?\d){{5,14}}(?!\d)")
# The North American form; an area code that nobody has is still written as a phone number.
_NANP = re.compile(
    r"(?<!\d)(?:1[ .-])?(?:\(\d{3}\)[ .-]?|\d{3}(?P<gap>[-. /]))\d{3}[-. ]\d{4}(?!\d)"
)
_LOCAL = re.compile(r"(?<!\d)[2-9]\d{2}[-. ]\d{4}(?!\d)")
_EXTENSION = re.compile(
    r"[ ,;]{0,2}(?:ext\.?|extension|x|#|доб\.?|durchwahl)[ :.]{0,2}\d{1,7}\b", re.I
)
_DATE = re.compile(
    r"\d{4}[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:0?[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?:0?[1-9]|[12]\d|3[01])[-./](?:0?[1-9]|[12]\d|3[01])[-./](?:19|20)?\d\d(?!\d|[-./ ]\d)"
)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\b")


class PhoneFinder:
    """Finds numbers for one ``region``, two letters as in ISO 3166-1."""

    def __init__(self, region: str) -> None:
        self.region = region

    def __call__(self, view: View) -> Iterator[Span]:
        """The numbers, with their extensions."""
        text = view.text
        for pattern, judge in (
            (_INTERNATIONAL, self._international),
            (_PREFIXED, self._prefixed),
            (_NANP, self._north_american),
            (_NATIONAL, self._national),
            (_LOCAL, self._local),
        ):
            for found in pattern.finditer(text):
                start = found.start()
                end = judge(view, start, found.end())
                if end is not None:
                    extension = _EXTENSION.match(text, end, end + 24)
                    yield Span(start, extension.end() if extension else end, "phone")

    def _international(self, view: View, start: int, end: int) -> int | None:
        """The end of the longest part that is a number of the country it names."""
        text = view.text
        if start and (text[start - 1].isalnum() or text[start - 1] in "_+/=."):
            return None
        return self._longest(text, start, end)

    def _prefixed(self, view: View, start: int, end: int) -> int | None:
        """``0049 …`` and ``011 49 …``: valid, and grouped or called a phone number."""
        text = view.text
        if not stands_alone(text, start, end) or in_url(view, start):
            return None
        if not _grouped(text[start:end]) and not Words.of(text, start).speak_of("phone"):
            return None
        length = 3 if text.startswith("011", start) else 2
        number = _parsed("+" + text[start + length : end], None)
        return end if number is not None and _valid(number) else None

    def _north_american(self, view: View, start: int, end: int) -> int | None:
        if not self._is_north_american() or not self._may_be_phone(view, start, end):
            return None
        text = view.text
        words = Words.of(text, start)
        if words.speak_of("phone"):
            return end
        if words.say("number"):
            return None
        if "(" in text[start:end] or text[start:end].count("-") >= 2:
            return end
        number = _parsed(text[start:end], self.region)
        return end if number is not None and _valid(number) else None

    def _national(self, view: View, start: int, end: int) -> int | None:
        text = view.text
        if not self._may_be_phone(view, start, end):
            return None
        part, words = text[start:end], Words.of(text, start)
        number = _parsed(part, self.region)
        if number is None or not _valid(number):
            return None
        if words.speak_of("phone") or _linked(text, start):
            return end
        if words.say("number") or self._is_north_american():
            return None  # Their grouping is known; anything else is some other number.
        return end if _grouped(part) and _has_prefix(number, part) else None

    def _local(self, view: View, start: int, end: int) -> int | None:
        """Seven digits of North America where a word says what they are."""
        if not self._is_north_american() or not self._may_be_phone(view, start, end):
            return None
        return end if Words.of(view.text, start).say("phone") else None

    def _may_be_phone(self, view: View, start: int, end: int) -> bool:
        text = view.text
        if start and text[start - 1] == "+":
            return False
        if not stands_alone(text, start, end) and not _linked(text, start):
            return False
        if in_url(view, start) and not _linked(text, start):
            return False
        return _DATE.match(text, start) is None and _ADDRESS.match(text, start) is None

    def _longest(self, text: str, start: int, end: int) -> int | None:
        """The end of the longest valid, else of the longest possible number from ``start``."""
        import phonenumbers

        ends = [end] + [
            at
            for at in range(end - 1, start + 7, -1)
            if not text[at].isdigit() and text[at - 1].isdigit()
        ]
        possible = None
        for last in ends:
            if _GLUED.match(text, last):
                continue
            number = _parsed(text[start:last], None)
            if number is None:
                continue
            if _valid(number):
                return last
            if possible is None and phonenumbers.is_possible_number(number):
                possible = last
        return possible

    def _is_north_american(self) -> bool:
        import phonenumbers

        return phonenumbers.country_code_for_region(self.region) == 1


_GLUED = re.compile(r"[A-Za-z_]|[:=][0-9A-Za-z]")
_LINK = re.compile(r"(?:tel:|sms:|wa\.me/|phone=|tel=|mobile=|callto:)\+?\Z", re.I)


def _linked(text: str, start: int) -> bool:
    return _LINK.search(text, max(0, start - 12), start) is not None


def _grouped(part: str) -> bool:
    """True if groups of digits are set apart; one dot alone is a decimal point."""
    gaps = re.findall(r"\D+", part)
    return bool(gaps) and gaps != ["."]


def _parsed(part: str, region: str | None) -> PhoneNumber | None:
    import phonenumbers

    try:
        return phonenumbers.parse(part, region)
    except phonenumbers.NumberParseException:
        return None


def _valid(number: Any) -> bool:
    import phonenumbers

    return phonenumbers.is_valid_number(number)


def _has_prefix(number: PhoneNumber, part: str) -> bool:
    """True if the national prefix, such as 0, is there where the country writes one."""
    import phonenumbers

    form = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    return re.sub(r"\D", "", form) == re.sub(r"\D", "", part)
