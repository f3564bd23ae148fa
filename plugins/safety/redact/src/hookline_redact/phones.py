"""Phone numbers: international ones, and national ones of one region.

``phonenumbers`` (Google's libphonenumber) decides which numbers are valid. Since digits may be many
other things, a number without any grouping counts only if a word before it says that it is a phone
number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .number_context import PrecedingWords, in_url, stands_alone
from .spans import Span
from .text_view import TextView

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber

_GAP = r"(?:[ .\-/]|\(|\)|\)[ .\-]|[ .]\(| - )"
_INTERNATIONAL = re.compile(rf"\+ ?(?:\(\d{{1,3}}\)|\d)(?:{_GAP}?\d){{6,14}}(?!\d)")
_PREFIXED = re.compile(rf"(?<!\d)(?:00|011[ .\-]?)(?=[1-9])\d(?:{_GAP}?\d){{7,14}}(?!\d)")
_NATIONAL = re.compile(rf"(?<!\d)\(?\d(?:{_GAP}?\d){{5,14}}(?!\d)")
# The North American form, also with an area code that does not exist.
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
_JOINED_LETTER = re.compile(r"[A-Za-z_]|[:=][0-9A-Za-z]")
_LINK = re.compile(r"(?:tel:|sms:|wa\.me/|phone=|tel=|mobile=|callto:)\+?\Z", re.I)


class PhoneFinder:
    """Finds phone numbers; ``region`` is a two-letter country code (ISO 3166-1)."""

    def __init__(self, region: str) -> None:
        self.region = region

    def __call__(self, view: TextView) -> Iterator[Span]:
        """Find the numbers, with their extensions."""
        text = view.text
        for pattern, check in (
            (_INTERNATIONAL, self._international),
            (_PREFIXED, self._prefixed),
            (_NANP, self._north_american),
            (_NATIONAL, self._national),
            (_LOCAL, self._local),
        ):
            for found in pattern.finditer(text):
                start = found.start()
                end = check(view, start, found.end())
                if end is not None:
                    extension = _EXTENSION.match(text, end, end + 24)
                    yield Span(start, extension.end() if extension else end, "phone")

    def _international(self, view: TextView, start: int, end: int) -> int | None:
        """The end of the longest part that is a number of the country it names."""
        text = view.text
        if start and (text[start - 1].isalnum() or text[start - 1] in "_+/=."):
            return None
        return self._longest_number(text, start, end)

    def _prefixed(self, view: TextView, start: int, end: int) -> int | None:
        """``0049 …`` and ``011 49 …``: valid, and grouped or preceded by a word for phone."""
        text = view.text
        if not stands_alone(text, start, end) or in_url(view, start):
            return None
        if not _is_grouped(text[start:end]) and not PrecedingWords.of(text, start).mention("phone"):
            return None
        length = 3 if text.startswith("011", start) else 2
        number = _parse("+" + text[start + length : end], None)
        return end if number is not None and _is_valid(number) else None

    def _north_american(self, view: TextView, start: int, end: int) -> int | None:
        if not self._is_north_american() or not self._may_be_phone(view, start, end):
            return None
        text = view.text
        words = PrecedingWords.of(text, start)
        if words.mention("phone"):
            return end
        if words.label_as("number"):
            return None
        if "(" in text[start:end] or text[start:end].count("-") >= 2:
            return end
        number = _parse(text[start:end], self.region)
        return end if number is not None and _is_valid(number) else None

    def _national(self, view: TextView, start: int, end: int) -> int | None:
        text = view.text
        if not self._may_be_phone(view, start, end):
            return None
        part, words = text[start:end], PrecedingWords.of(text, start)
        number = _parse(part, self.region)
        if number is None or not _is_valid(number):
            return None
        if words.mention("phone") or _follows_link(text, start):
            return end
        if words.label_as("number") or self._is_north_american():
            return None  # another pattern finds the fixed North American grouping
        return end if _is_grouped(part) and _has_prefix(number, part) else None

    def _local(self, view: TextView, start: int, end: int) -> int | None:
        """Seven digits of a North American number, directly preceded by a word for phone."""
        if not self._is_north_american() or not self._may_be_phone(view, start, end):
            return None
        return end if PrecedingWords.of(view.text, start).label_as("phone") else None

    def _may_be_phone(self, view: TextView, start: int, end: int) -> bool:
        text = view.text
        if start and text[start - 1] == "+":
            return False
        if not stands_alone(text, start, end) and not _follows_link(text, start):
            return False
        if in_url(view, start) and not _follows_link(text, start):
            return False
        return _DATE.match(text, start) is None and _ADDRESS.match(text, start) is None

    def _longest_number(self, text: str, start: int, end: int) -> int | None:
        """The end of the longest valid number from ``start``, else of the longest possible one."""
        import phonenumbers

        ends = [end] + [
            at
            for at in range(end - 1, start + 7, -1)
            if not text[at].isdigit() and text[at - 1].isdigit()
        ]
        possible = None
        for last in ends:
            if _JOINED_LETTER.match(text, last):
                continue
            number = _parse(text[start:last], None)
            if number is None:
                continue
            if _is_valid(number):
                return last
            if possible is None and phonenumbers.is_possible_number(number):
                possible = last
        return possible

    def _is_north_american(self) -> bool:
        import phonenumbers

        return phonenumbers.country_code_for_region(self.region) == 1


def _follows_link(text: str, start: int) -> bool:
    return _LINK.search(text, max(0, start - 12), start) is not None


def _is_grouped(part: str) -> bool:
    """Whether the digits are grouped; a single dot is a decimal point."""
    gaps = re.findall(r"\D+", part)
    return bool(gaps) and gaps != ["."]


def _parse(part: str, region: str | None) -> PhoneNumber | None:
    import phonenumbers

    try:
        return phonenumbers.parse(part, region)
    except phonenumbers.NumberParseException:
        return None


def _is_valid(number: Any) -> bool:
    import phonenumbers

    return phonenumbers.is_valid_number(number)


def _has_prefix(number: PhoneNumber, part: str) -> bool:
    """Whether the national prefix, such as 0, is there if the country writes one."""
    import phonenumbers

    form = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    return re.sub(r"\D", "", form) == re.sub(r"\D", "", part)
