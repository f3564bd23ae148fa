"""Ordinary texts pass: notes, skills, instructions of projects, code, in many scripts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hookline_threat_scan.scanner import ThreatScanner
from hookline_threat_scan.text_use import TextUse
from support.matrices import sampled

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[4]
BENIGN: dict[str, list[str]] = yaml.load(
    (DATA / "benign.yaml").read_text("utf-8"), yaml.CSafeLoader
)
scanner = ThreatScanner()


def test_benign_corpus_has_enough_texts_and_languages() -> None:
    assert sum(map(len, BENIGN.values())) >= 150
    assert len([name for name in BENIGN if not name.startswith("en")]) >= 10


@sampled("name", sorted(BENIGN))
@sampled("audience", list(TextUse))
def test_ordinary_text_passes(name: str, audience: TextUse) -> None:
    for text in BENIGN[name]:
        assert scanner.scan(text, audience) is None, text


@pytest.mark.parametrize("name", sorted(BENIGN))
def test_two_ordinary_texts_in_a_row_pass(name: str) -> None:
    for first, second in pairwise(BENIGN[name]):
        assert scanner.scan(f"{first}\n{second}") is None, first


def test_all_ordinary_texts_together_pass() -> None:
    everything = "\n\n".join(text for found in BENIGN.values() for text in found)
    assert scanner.scan(everything) is None


@pytest.mark.slow
def test_project_docs_pass() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/*/README.md")]
    assert len(pages) > 50
    found = {page: scanner.scan(page.read_text("utf-8"), TextUse.DATA) for page in pages}
    assert [(page.relative_to(ROOT), one) for page, one in found.items() if one is not None] == []
