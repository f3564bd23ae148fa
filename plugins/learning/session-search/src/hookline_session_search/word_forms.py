"""Other forms of a word, for what stemmers do not join: ``haeuser`` and ``Häuser``, ``schreiben``
and ``geschrieben``, ``cartão`` and ``cartões``.

The language is not detected: a word gets the forms that it would have in each language of its
script.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from .tokens import fold, without_marks

MIN_REST_CHARS = 2
"""Letters that remain of a word without an ending."""
_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae", "œ": "oe"}
_DIPHTHONGS = (("ie", "e"), ("ue", "o"))
"""Vowels that alternate in Spanish verbs: ``empezar``, ``empiezo``; ``contar``, ``cuento``."""
_PREFIXES = """
ab an auf aus be bei dar durch ein ent er fest fort her heraus herein herunter hervor hin hinaus
hinein hinzu los miss mit nach nieder über um unter ver vor voraus vorbei weg weiter wieder zer zu
zurück zusammen
"""
_OTHER_SCRIPTS = {"CYRILLIC": ("russian", "ukrainian"), "GREEK": ("greek",), "ARABIC": ("arabic",)}
"""Languages of scripts other than Latin that have endings."""
_ARTICLE = re.compile(r"\A(?:[وفبك]?ال|لل)(?=.{2})")
_DIPHTHONG_TAIL = re.compile(r"[^aeiou]{1,3}(?:[aei]r|o|as?|an)\Z")
_INFINITIVE = re.compile(r"(.{3,}?)(?:e?n)\Z")
_PARTICIPLE = re.compile(r"(.*?)ge(.{3,}?)e?(?:t|ten|te|tem|ter|tes|en|ene|enen|ener|enes)\Z")
_PAST = re.compile(r"(.{3,}?)e?(?:te|ten|test|tet|t|st)\Z")
_VERB_ENDING = "(?:|e|st|t|et|est|en|n|te|ten|test|tet|end|ene|enen|ener|enes|enem)"


def other_forms(word: str) -> frozenset[str]:
    """Return the other forms of a folded word that is in letters."""
    forms = {word, *_changed_umlaut(word)}
    for spelling in (word, *_spellings(word)):
        forms.add(spelling)
        script = unicodedata.name(spelling[:1] or " ").partition(" ")[0]
        if script in _OTHER_SCRIPTS:
            forms |= set(_with_endings(spelling, _OTHER_SCRIPTS[script]))
            forms |= set(_with_article(spelling)) if script == "ARABIC" else set()
        elif script == "LATIN":
            forms |= set(_with_endings(spelling, _latin()))
            forms |= set(_strong_forms(spelling))
            forms |= set(_weak_forms(spelling))
            forms |= set(_changed_vowels(spelling))
        forms |= _irregular().get(without_marks(spelling), frozenset())
    return frozenset(forms - {word})


def _spellings(word: str) -> Iterator[str]:
    """Yield the word with ``ä`` for ``ae`` and the other way round, and with ``ё`` for ``е``."""
    for place, letter in enumerate(word):
        if letter == "е":
            yield f"{word[:place]}ё{word[place + 1 :]}"
    plain = word
    for letter, pair in _UMLAUTS.items():
        plain = plain.replace(letter, pair)
    if plain != word:
        yield plain
    marked = re.sub(r"ae|oe|(?<![aeq])ue", lambda found: f"{found[0][0]}\u0308", word)
    if marked != word:
        yield fold(marked)


def _changed_umlaut(word: str) -> Iterator[str]:
    """Yield ``haeus`` for ``haus``, of which the plural is ``haeuser``."""
    if changed := re.fullmatch(r"(.*?)(au|[aou])([^aou]*)", word):
        yield f"{changed[1]}{changed[2][0]}e{changed[2][1:]}{changed[3]}"


def _with_endings(word: str, languages: Iterable[str]) -> Iterator[str]:
    bare = without_marks(word)
    for language in languages:
        for one, other in _endings()[language]:
            for old, new in ((one, other), (other, one)):
                text = word if word.endswith(old) else bare
                if text.endswith(old) and len(text) - len(old) >= MIN_REST_CHARS:
                    yield text[: len(text) - len(old)] + new


def _with_article(word: str) -> Iterator[str]:
    """Yield an Arabic word with and without its article and the letters written with it."""
    bare = _ARTICLE.sub("", word)
    for form in {bare, bare.removesuffix("ة")} if len(bare) > MIN_REST_CHARS else {word}:
        yield from (form, f"ال{form}", f"وال{form}", f"بال{form}", f"لل{form}")


def _changed_vowels(word: str) -> Iterator[str]:
    for long, short in _DIPHTHONGS:
        for old, new in ((long, short), (short, long)):
            head, found, tail = word.rpartition(old)
            if found and head and _DIPHTHONG_TAIL.match(tail):
                yield head + new + tail


def _weak_forms(word: str) -> Iterator[str]:
    """Yield the infinitive, the past and the participle of a regular German verb."""
    if (found := _PARTICIPLE.match(word)) and (not found[1] or found[1] in _prefixes()):
        yield f"{found[1]}{found[2]}en"
    if found := _PAST.match(word):
        yield f"{found[1]}en"
    if (found := _INFINITIVE.match(word)) is None:
        return
    stem = found[1]
    link = "e" if stem.endswith(("t", "d")) else ""
    yield from (f"{stem}{link}t", f"{stem}{link}te", f"ge{stem}{link}t")
    for prefix in _prefixes():
        if stem.startswith(prefix) and len(stem) - len(prefix) >= 3:
            yield f"{prefix}ge{stem[len(prefix) :]}{link}t"
            yield f"{prefix}zu{stem[len(prefix) :]}en"


def _strong_forms(word: str) -> Iterator[str]:
    """Yield the stems of a German verb whose vowel changes, with the word's prefix."""
    found = _strong_verb().fullmatch(word) or _strong_verb().fullmatch(without_marks(word))
    if found is None:
        return
    prefix = found[1] or ""
    for stems in _strong()[without_marks(found[2])]:
        for stem in stems:
            yield from (f"{prefix}{stem}{ending}" for ending in ("", "t", "te", "en"))
            yield from (f"{prefix}ge{stem}en", f"{prefix}ge{stem}t")
        yield from (f"{prefix}{stems[0]}en", f"{prefix}zu{stems[0]}en")


@cache
def _data() -> dict[str, dict[str, str]]:
    path = Path(__file__).with_name("inflection.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _latin() -> tuple[str, ...]:
    others = {language for languages in _OTHER_SCRIPTS.values() for language in languages}
    return tuple(language for language in _data()["endings"] if language not in others)


@cache
def _endings() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for language, text in _data()["endings"].items():
        for pair in text.split():
            one, _, other = fold(pair).partition("|")
            found.setdefault(language, []).append((one, other))
    return found


@cache
def _irregular() -> dict[str, frozenset[str]]:
    """The forms of irregular words, by each of them without accents."""
    found: dict[str, set[str]] = {}
    for text in _data()["words"].values():
        for line in text.splitlines():
            forms = fold(line).split()
            for form in forms:
                found.setdefault(without_marks(form), set()).update(forms)
    return {form: frozenset(forms) for form, forms in found.items()}


@cache
def _strong() -> dict[str, list[list[str]]]:
    """The stems of verbs whose vowel changes, by each of them without umlauts."""
    found: dict[str, list[list[str]]] = {}
    for line in _data()["strong"]["german"].splitlines():
        stems = fold(line).split()
        for stem in {without_marks(one) for one in stems}:
            found.setdefault(stem, []).append(stems)
    return found


@cache
def _strong_verb() -> re.Pattern[str]:
    stems = "|".join({*_strong(), *(s for groups in _strong().values() for g in groups for s in g)})
    prefixes = "|".join(sorted(_prefixes(), key=len, reverse=True))
    return re.compile(rf"((?:{prefixes})?)(?:ge|zu)?({stems}){_VERB_ENDING}")


@cache
def _prefixes() -> frozenset[str]:
    return frozenset(fold(_PREFIXES).split())
