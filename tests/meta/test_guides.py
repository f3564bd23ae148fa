"""The guides for contributors name files that exist."""

from __future__ import annotations

import re

import pytest

from meta.tree import ROOT

GUIDES = ("docs/architecture.md", "CONTRIBUTING.md", "SECURITY.md", "README.md")
PLACEHOLDERS = ("GROUP", "NAME", "KIND", "NNNN", "…", "*")
FOLDERS = ("core", "hookspecs", "plugins", "tests", "docs", "examples", "packaging", "benchmarks")
_PATH = re.compile(rf"(?<![\w/.])(?:{'|'.join(FOLDERS)})/[^\s`)\"'|#\]]*")


@pytest.mark.parametrize("guide", GUIDES)
def test_guide_names_files_that_exist(guide: str) -> None:
    text = (ROOT / guide).read_text("utf-8")
    named = {path.rstrip(".,:;") for path in _PATH.findall(text)}
    concrete = {path for path in named if not any(word in path for word in PLACEHOLDERS)}
    assert sorted(path for path in concrete if not (ROOT / path).exists()) == []


def test_architecture_page_answers_twenty_questions() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| .*\? \| .*`.+` ?.*\|$", text, re.MULTILINE)
    assert len(rows) >= 20
