"""The language for a reader, and the catalogues that are updated from sources."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hookline_hookspecs.web import ENGLISH, Language, speaking, t, tn
from hookline_webkit import languages, translations

SOURCES = {
    "pages.py": 'from x import t\nt("Hello {name}", name="x")\nt(\n    "two "\n    "parts"\n)\n',
    "templates/a.html": '<b title="{{ t("In a template") }}">'
    '{{ tn("{n} cat", "{n} cats", n) }}</b>',
    "static/a.js": 'html`<b>${x ? html`<i>${t("Nested \\"one\\"")}</i>` '
    ': tn("{n} dog", "{n} dogs", 2)}`',
    "roles.yaml": '# translate: what\na: {what: "Read it", may: [x]}\n',
}
GERMAN = {
    "Hello {name}": "Hallo {name}",
    "two parts": "zwei Teile",
    "In a template": "In einer Vorlage",
    'Nested "one"': "Verschachtelt",
    "Read it": "Lesen",
}


@pytest.mark.parametrize(
    ("chosen", "accepted", "expected"),
    [
        ("", "", "en"),
        ("", "de-AT,de;q=0.9,en;q=0.8", "de"),
        ("", "fr, en;q=0.5", "en"),
        ("", "en-GB,de;q=0.9", "en"),
        ("", "zh-CN", "zh-Hans"),
        ("", "zh", "zh-Hans"),
        ("", "zh-Hans-SG", "zh-Hans"),
        ("", "zh-TW", "zh-Hans"),
        ("", "zh-Hant-HK, en", "zh-Hans"),
        ("", "de;q=0, fr", "en"),
        ("", "de;q=x, \u00ff;;;,", "en"),
        ("de", "en", "de"),
        ("en", "de", "en"),
        ("xx", "de", "de"),
    ],
)
def test_language_for_a_reader(chosen: str, accepted: str, expected: str) -> None:
    assert languages.choose(["de", "zh-Hans"], chosen, accepted) == expected


def test_traditional_chinese_is_served_if_there_is_a_catalogue() -> None:
    assert languages.choose(["zh-Hans", "zh-Hant"], "", "zh-HK") == "zh-Hant"


def test_sentences_outside_of_pages_are_english_and_numbers_are_formatted() -> None:
    assert t("{n} of {name}", n=1234, name="x{y}") == "1,234 of x{y}"
    assert t("braces {stay}") == "braces {stay}"
    assert [tn("{n} cat", "{n} cats", n) for n in (0, 1, 2)] == ["0 cats", "1 cat", "2 cats"]


def test_sentence_with_a_number_is_not_used_without_it(package: Path) -> None:
    (package / "times.py").write_text('tn("every day", "every {n} days", 2)\nt("every day")\n')
    with pytest.raises(ValueError, match="'every day' is used with tn and without it"):
        translations.main([str(package), "--add", "de"])


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "some_pages"
    for name, text in SOURCES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return folder


def _translate(package: Path, cats: tuple[str, ...]) -> None:
    catalogue = translations.read(package / "locale/de/messages.po", "de")
    for message in catalogue:
        if isinstance(message.id, tuple):
            message.string = cats
        elif message.id:
            message.string = GERMAN[str(message.id)]
    file = package / "locale/de/messages.po"
    file.write_text(translations.written(catalogue, "de"), "utf-8")


def test_catalogue_is_made_translated_and_used(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert translations.main([str(package), "--add", "de"]) == 0
    assert translations.main([str(package), "--check"]) == 1
    _translate(package, ("{n} Tier", "{n} Tiere"))
    assert translations.main([str(package), "--check"]) == 0
    assert translations.main([str(package)]) == 0  # an update changes nothing
    assert languages.languages_of("some_pages") == ["de"]
    monkeypatch.setattr(languages, "packages", lambda: ("some_pages",))
    languages.load.cache_clear()
    german = languages.load("de")
    languages.load.cache_clear()
    with speaking(german):
        assert t("Hello {name}", name="Welt") == "Hallo Welt"
        assert [tn("{n} cat", "{n} cats", n) for n in (1, 2000)] == ["1 Tier", "2.000 Tiere"]
        assert t("not translated") == "not translated"
    assert t("Hello {name}", name="World") == "Hello World"
    in_page = languages.for_page("some_pages", "de")
    assert in_page["messages"] == {
        'Nested "one"': "Verschachtelt",
        "{n} dog": ("{n} Tier", "{n} Tiere"),
    }
    assert in_page["plurals"][:3] == [1, 0, 1]


def test_faults_of_a_catalogue_are_named(package: Path) -> None:
    translations.main([str(package), "--add", "de"])
    _translate(package, ("{n} Tier", "{m} Tiere"))
    found = list(translations.faults(package))
    assert [one for one in found if "other placeholders than '{n} cat'" in one]
    (package / "pages.py").write_text('t("A new sentence")\n', "utf-8")
    found = list(translations.faults(package))
    assert "some_pages/locale/de: not translated: 'A new sentence'" in found
    assert "some_pages/locale/de: no longer used: 'Hello {name}'" in found


def test_english_needs_no_catalogue() -> None:
    assert languages.load("en") is ENGLISH
    assert Language() == ENGLISH
