"""What threat-scan finds and what it refuses wrongly: ``python benchmarks/threat_scan.py``.

Every text of the labelled corpus beside the plugin's tests is scanned as guidance. Patterns were
made with two thirds of the corpus in view; the held-out third, chosen by the hash of each text, was
not read for that. Both were written before the patterns, by the same hand: the rates say how the
filter generalises to texts of this kind, not how it fares against a writer who knows it. The table
shows, for each class and language, texts found (hostile) or refused (benign) and all. ``--time``
adds milliseconds of processor time for 64 KB and 1 MB of each kind of ordinary and of hard text.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from time import process_time

import yaml
from hookline_threat_scan.scanner import ThreatScanner
from hookline_threat_scan.text_use import TextUse

CORPUS = Path(__file__).parents[1] / "plugins/safety/threat-scan/tests/data/corpus"
KB = 1024
HARD = {
    "blanks": " ",
    "one letter": "a",
    "apart": "a b ",
    "marks": "](<![{`*_",
    "verbs": "ignore all ",
    "addresses": "https://a.b/?x=",
    "notes": "The user prefers short answers. Deploys happen on Fridays, after the tests.\n",
}


def say(line: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(line + "\n")


def main() -> None:
    """Print the rates and, if asked, the times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--time", action="store_true", help="measure the time as well")
    scanner = ThreatScanner()
    for name in ("hostile", "hostile-held-out", "benign", "benign-held-out"):
        rates(scanner, name)
    if parser.parse_args().time:
        times(scanner)


def rates(scanner: ThreatScanner, name: str) -> None:
    """Print how many texts of a file are found, in all, by class and by language."""
    found, total = Counter[str](), Counter[str]()
    for language, classes in yaml.safe_load((CORPUS / f"{name}.yaml").read_text("utf-8")).items():
        for kind, texts in classes.items():
            hits = sum(scanner.scan(text, TextUse.GUIDANCE) is not None for text in texts)
            for key in ("all", kind, language):
                found[key] += hits
                total[key] += len(texts)
    say(f"{name}: {found['all']} of {total['all']} ({found['all'] / total['all']:.1%})")
    rows = (f"{key} {found[key]}/{total[key]}" for key in total if key != "all")
    say("   " + ", ".join(rows))


def times(scanner: ThreatScanner) -> None:
    """Print the time of a scan for two lengths; the second is sixteen times the first."""
    for name, unit in HARD.items():
        spent = []
        for size in (64 * KB, KB * KB):
            text = (unit * (size // len(unit) + 1))[:size]
            start = process_time()
            for _ in scanner.findings(text, TextUse.GUIDANCE):
                pass
            spent.append((process_time() - start) * 1000)
        say(f"{name:12} {spent[0]:8.1f} ms {spent[1]:9.1f} ms   x{spent[1] / spent[0]:.0f}")


if __name__ == "__main__":
    main()
