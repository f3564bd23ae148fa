"""The languages of the pages are complete, and all that the page says can be translated."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hookline_webkit import languages, translations

from meta.tree import CORE, HOOKSPECS, ROOT, dists

LANGUAGES = {"de", "zh_Hans"}
PACKAGES = [
    HOOKSPECS,
    CORE,
    *(one.source / name for one in dists() for name in sorted(one.modules)),
]
SETTINGS = {
    name: entry_points(group="hookline.plugins")[name].load().config_class
    for dist in dists()
    for name, (group, _) in dist.entry_points.items()
    if group == "hookline.plugins"
}
"""The settings of each plugin."""
WEB_UI = ROOT / "plugins/web/web-ui/src/hookline_web_ui"
ATTRIBUTES = r"(?<![-\w])(?:aria-label|title|placeholder|alt)"
_BARE = (
    re.compile(rf'{ATTRIBUTES}="[^"$<{{]*[A-Za-z]{{3}}[^"]*"'),
    re.compile(r"(?<![=(\s,])>\s*[A-Z][a-z]+[^<>${}`;()]*</?[a-z$]"),
)
"""An attribute that people read, and a text between tags, that are literal."""
_WRAPPED = re.compile(r'\b(?:t|tx|tn|N_)\(\s*"[^"]*"(?:,\s*"[^"]*")?')
_STRING = re.compile(r'"[A-Z][a-z]+ [^"\n]*[a-z.…?!]"')
"""A string of several words, in JavaScript."""
ALLOWED = ("Hookline", "Ctrl K", '"Allow once"', '"Allow always"')


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.name)
def test_sentences_are_translated(package: Path) -> None:
    """Also those that a page shows and Python has: help, summaries, reasons, results of checks."""
    faults = list(translations.faults(package, LANGUAGES))
    hint = f"python -m hookline_webkit.translations {package.relative_to(ROOT)}, then translate"
    assert not faults, "\n".join([hint, *faults])


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_one_sentence_has_one_translation(code: str) -> None:
    known: dict[str, tuple[str, object]] = {}
    wrong = []
    for package in PACKAGES:
        catalogue = languages.read_catalogue(package.name, code)
        for key, forms in languages.translations(catalogue or ()):
            place, before = known.setdefault(key, (package.name, forms))
            if before != forms:
                wrong.append(f"{key!r}: {place} {before}, {package.name} {forms}")
    assert not wrong, "\n".join(wrong)


@cache
def _translated(code: str) -> set[str]:
    """The sentences that some catalogue of a language has."""
    found = (languages.read_catalogue(package.name, code) for package in PACKAGES)
    return {key for one in found for key, _ in languages.translations(one or ())}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_have_a_label_in_every_language(name: str) -> None:
    """The form at ``/plugins/NAME`` makes a label from the key only for plugins of others."""
    titles = {key: field.title for key, field in SETTINGS[name].model_fields.items()}
    assert [key for key, title in titles.items() if not title] == [], "add Field(title=…)"
    for code in LANGUAGES:
        assert set(titles.values()) - _translated(code) == set()


@pytest.mark.parametrize(
    "file",
    sorted([*WEB_UI.glob("static/js/*.js"), *WEB_UI.glob("templates/*.html")]),
    ids=lambda one: one.name,
)
def test_page_has_no_bare_sentences(file: Path) -> None:
    text = re.sub(r"/\*.*?\*/|^\s*//.*$", "", file.read_text("utf-8"), flags=re.S | re.M)
    found = [match[0] for pattern in _BARE for match in pattern.finditer(text)]
    if file.suffix == ".js":
        found += _STRING.findall(_WRAPPED.sub("", text))
    bare = [one for one in found if not any(name in one for name in ALLOWED)]
    assert not bare, "wrap these in t(…):\n" + "\n".join(bare)
