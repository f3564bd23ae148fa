"""The labelled corpus and the rates of the scanner on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest
import yaml
from hookline_threat_scan.grammar import grammar
from hookline_threat_scan.patterns import pattern_groups
from hookline_threat_scan.scanner import ThreatScanner
from hookline_threat_scan.text_use import TextUse

DATA = Path(__file__).parent / "data" / "corpus"
CLASSES = {
    "override", "role", "secrecy", "exfiltration", "url-exfiltration", "image-exfiltration",
    "hidden-comment", "spread", "persistence", "guard", "run", "template", "invisible", "disguise",
    "theft",
}  # fmt: skip
scanner = ThreatScanner()


def texts(name: str) -> Iterator[tuple[str, str, str]]:
    """Language, class and text of each entry of a file."""
    for language, classes in yaml.load(
        (DATA / f"{name}.yaml").read_text("utf-8"), yaml.CSafeLoader
    ).items():
        for kind, found in classes.items():
            yield from ((language, kind, text) for text in found)


HOSTILE, HOSTILE_OUT = list(texts("hostile")), list(texts("hostile-held-out"))
BENIGN, BENIGN_OUT = list(texts("benign")), list(texts("benign-held-out"))


def test_corpus_size_matches_the_readme() -> None:
    hostile, benign = HOSTILE + HOSTILE_OUT, BENIGN + BENIGN_OUT
    assert len(hostile) >= 300
    assert len({language for language, _, _ in hostile}) >= 19
    assert {kind for _, kind, _ in hostile} == CLASSES
    assert len(benign) >= 200
    assert sum(kind == "about" for _, kind, _ in benign) >= 60
    assert len(HOSTILE_OUT) + len(BENIGN_OUT) >= (len(hostile) + len(benign)) // 3 - 5


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_attack_classes_are_found(kind: str) -> None:
    assert [t for _, k, t in HOSTILE if k == kind and scanner.scan(t) is None] == []


@pytest.mark.parametrize("language", sorted({language for language, _, _ in HOSTILE}))
def test_attacks_are_found_in_every_language(language: str) -> None:
    said = [text for one, _, text in HOSTILE if one == language]
    assert [text for text in said if scanner.scan(text) is None] == []


@pytest.mark.parametrize("audience", list(TextUse))
def test_ordinary_texts_pass(audience: TextUse) -> None:
    refused = [text for _, _, text in BENIGN if scanner.scan(text, audience) is not None]
    assert refused == []


def test_held_out_rates_match_the_readme() -> None:
    found = sum(scanner.scan(text) is not None for _, _, text in HOSTILE_OUT)
    refused = sum(scanner.scan(text) is not None for _, _, text in BENIGN_OUT)
    assert found >= 0.95 * len(HOSTILE_OUT)
    assert refused <= 0.03 * len(BENIGN_OUT)


def repeats(parsed: Any, inside: bool = False) -> Iterator[bool]:
    """True for each repetition without a bound that stands in another one."""
    for op, args in parsed:
        unbounded = "REPEAT" in str(op) and args[1] is parser.MAXREPEAT
        if unbounded and inside:
            yield True
        for part in args if isinstance(args, tuple | list) else ():
            for one in part if isinstance(part, list) else [part]:
                if isinstance(one, parser.SubPattern):
                    yield from repeats(one, inside or unbounded)


def test_expressions_do_not_nest_unbounded_repetitions() -> None:
    sources = [p.pattern for group in pattern_groups() for p in group.patterns]
    sources += [p.pattern for rule in grammar() for p in rule.patterns]
    assert len(sources) > 100
    for source in sources:
        assert not any(repeats(parser.parse(source, re.IGNORECASE))), source
