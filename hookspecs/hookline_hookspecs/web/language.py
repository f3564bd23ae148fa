"""The language of a page: translates the sentences of pages for the person who reads them.

::

    from hookline_hookspecs.web import t, tn

    View(t("Schedule"), parts, t("Jobs of {name}", name=name))
    Stat(t("Jobs"), str(count), tn("{n} paused", "{n} paused", paused))

The English sentence is the key of its translations, which a plugin has in
``locale/LANGUAGE/messages.po`` beside its module. While no page is answered, as in a command or a
job, sentences stay English; a page translates those with :func:`translate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from ..sentences import N_
from .finished_text import Template

__all__ = [
    "ENGLISH",
    "N_",
    "Language",
    "format_number",
    "language",
    "speaking",
    "t",
    "tn",
    "translate",
]
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def english_number(value: float, decimals: int | None = None) -> str:
    """Return a number as in English: ``1,234.5``; see :class:`Language`."""
    if isinstance(value, int) or decimals is not None:
        return f"{value:,.{decimals or 0}f}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def english_day(day: date) -> str:
    """Return a day of the year: ``3 Nov``."""
    return f"{day.day} {MONTHS[day.month - 1]}"


@dataclass(frozen=True, slots=True)
class Language:
    """A language of the pages.

    Attributes:
        code: the tag for HTML, such as ``de`` or ``zh-Hans``.
        direction: in which it is written.
        messages: the translations of each English sentence, one for each plural form.
        plural: returns the number of the plural form for a count.
        number: formats a number with at most two decimals, or with exactly ``decimals``.
        day: formats a day of the year.
        templates: the sentences of ``messages`` with values, to recognise finished text by.
    """

    code: str = "en"
    direction: Literal["ltr", "rtl"] = "ltr"
    messages: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    plural: Callable[[int], int] = field(default=lambda n: int(n != 1), repr=False)
    number: Callable[..., str] = field(default=english_number, repr=False)
    day: Callable[[date], str] = field(default=english_day, repr=False)
    templates: Sequence[Template] = field(default=(), repr=False)

    def sentence(self, english: str) -> str:
        """Return the translation of a sentence, with its ``{name}``."""
        found = self.messages.get(english)
        return found[0] if found else english

    def plural_sentence(self, one: str, many: str, n: int) -> str:
        """Return the translation of a sentence for a number, with its ``{n}``."""
        forms, form = self.messages.get(one, ()), self.plural(n)
        return forms[form] if form < len(forms) else one if n == 1 else many

    def text(self, english: str) -> str:
        """Return the translation of finished text: of all of it, or else of each line, part between
        `` · `` or sentence that is known, also after ``name: `` or code in backticks. Code itself
        stays as it is: in backticks, in a block and in a quoted line ``    | ``. So does a very
        long text."""
        if len(english) > MAX_FINISHED_CHARS:
            return english
        if "\n" in english and (found := self._known(english)) is not None:
            return found
        lines, fence = [], ""
        for line in english.split("\n"):
            mark = _FENCE.match(line)
            is_code = fence or mark or line.startswith("    | ")
            lines.append(line if is_code else self._line(line))
            if not fence:
                fence = mark[1] if mark else ""
            elif line.strip() == fence:
                fence = ""
        return "\n".join(lines)

    def _line(self, line: str) -> str:
        bare = line.strip()
        if not bare:
            return line
        parts = [bare] if bare in self.messages else _parts(bare)
        return line.replace(bare, " · ".join(self._part(one) or one for one in parts))

    def _part(self, bare: str) -> str | None:
        if bare in self.messages:
            return self.sentence(bare)
        if (code := _SPAN.match(bare)) and code[0] == bare:
            return None
        if (found := self._sentences(bare)) is not None:
            return found
        for pattern in (_CODE, _WHOLE, _NAME):
            head = pattern.match(bare)
            if head and (found := self._known(bare[head.end() :])) is not None:
                return head[0] + found
        return None

    def _sentences(self, bare: str) -> str | None:
        """Return several sentences, if all of them are known."""
        texts = _BETWEEN.split(bare)
        if len(texts) == 1:
            return None
        known = [self._after_code(one) if one not in (" ", "; ") else one for one in texts]
        parts = [one for one in known if one is not None]
        if len(parts) != len(texts):
            return None
        joined = "".join(parts)
        if self.code.startswith("zh"):  # its punctuation has no blank after it
            joined = joined.replace("。 ", "。").replace("; ", "；")
        return joined

    def _after_code(self, text: str) -> str | None:
        """Return the translation of one sentence, which may stand after code in backticks."""
        code = _CODE.match(text)
        found = self._known(text[code.end() :] if code else text)
        return f"{code[0]}{found}" if code and found is not None else found

    def _known(self, text: str) -> str | None:
        """Return the translation of one sentence, which may begin with a capital letter or end
        with a full stop other than in the catalogue."""
        for stop in ("", ".") if text.endswith(".") else ("",):
            bare = text.removesuffix(stop)
            for one in dict.fromkeys((bare, f"{bare[:1].lower()}{bare[1:]}")):
                found = self.sentence(one) if one in self.messages else self._filled(one)
                if found is not None:
                    found = found if one == bare else f"{found[:1].upper()}{found[1:]}"
                    return f"{found}{'。' if stop and self.code.startswith('zh') else stop}"
        return None

    def _filled(self, text: str) -> str | None:
        for template in self.templates:
            if not text.startswith(template.parts[0]):  # nearly always, and cheaper than a call
                continue
            if (values := template.values(text)) is None:
                continue
            if (form := self._form(template.sentence, values)) is not None:
                return form.format(**{name: self._value(value) for name, value in values.items()})
        return None

    def _form(self, sentence: str, values: Mapping[str, str]) -> str | None:
        """Return the plural form for the number ``{n}``; None if that or a ``{len}`` is none."""
        forms, n = self.messages[sentence], values.get("n", "0")
        if not _NUMBER.fullmatch(n) or not _NUMBER.fullmatch(values.get("len", "0")):
            return None
        return forms[self.plural(int(n.replace(",", "")))] if len(forms) > 1 else forms[0]

    def _value(self, value: str) -> str:
        """Return a value: a number formatted, or the phrases in its list that are known, as
        ``pay (5 €), wait``."""
        if "," in value and _NUMBER.fullmatch(value):
            return self.number(int(value.replace(",", "")))
        parts = [one.partition(" (") for one in value.split(", ")]
        known = [self.sentence(head) if " " in head else head for head, _, _ in parts]
        ends = [f"{bracket}{rest}" for _, bracket, rest in parts]
        return ", ".join(map("".join, zip(known, ends, strict=True)))

    def values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values for a sentence, with numbers formatted."""
        return {
            name: self.number(value) if type(value) in (int, float) else value
            for name, value in values.items()
        }


def _parts(line: str) -> list[str]:
    """Split a line at `` · ``, except in code."""
    return [one.replace("\0", " · ") for one in _SPAN.sub(_hide, line).split(" · ")]


def _hide(code: re.Match[str]) -> str:
    return code[0].replace(" · ", "\0")


_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
"""Code in backticks."""
_FENCE = re.compile(r"\s*(```+)")
"""The first line of a block of code."""
_CODE, _WHOLE, _NAME = re.compile(r"`[^`]*` "), re.compile(""), re.compile(r"[^:]*: ")
"""What may stand before a sentence: code, nothing, a name."""
_NUMBER = re.compile(r"[0-9]{1,9}|[0-9]{1,3}(?:,[0-9]{3}){1,4}")
"""A number in finished text, in English: ``12`` or ``1,234``."""
_BETWEEN = re.compile(r"((?<=[.!?]) |; )")
MAX_FINISHED_CHARS = 10_000
"""Longer texts, such as a job's output, are not compared with the catalogue: it takes too long."""
ENGLISH = Language()
"""The language of the sentences in the sources."""
_current: ContextVar[Language] = ContextVar("hookline_language", default=ENGLISH)


def language() -> Language:
    """Return the language of the page that is being answered."""
    return _current.get()


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Use a language inside the ``with`` block."""
    token = _current.set(language)
    try:
        yield
    finally:
        _current.reset(token)


def format_number(value: float, decimals: int | None = None) -> str:
    """Format a number with at most two decimals, or with exactly ``decimals``."""
    return language().number(value, decimals)


def t(sentence: str, /, **values: Any) -> str:
    """Translate a sentence and fill in ``{name}``; numbers are formatted for the language.

    ``sentence`` is a literal, so that it is found when catalogues are updated, or a constant that
    is marked by :func:`N_`. Without values, braces are ordinary characters.
    """
    spoken = language()
    text = spoken.sentence(sentence)
    return text.format(**spoken.values(values)) if values else text


def tn(one: str, many: str, n: int, /, **values: Any) -> str:
    """Translate a sentence that depends on the number ``{n}``."""
    spoken = language()
    return spoken.plural_sentence(one, many, n).format(**spoken.values({"n": n, **values}))


def translate(text: str) -> str:
    """Translate finished English text for the page: a guard's reason, help, the fix of a check.

    Known are constants and f-strings that are marked by :func:`N_`, and those that are written as
    an argument of ``Deny``, ``Ask``, ``CheckResult`` or ``Field(title=…, description=…)`` or as the
    docstring of a command. Other text stays as it is.
    """
    spoken = language()
    return spoken.text(text) if spoken.messages and text else text
