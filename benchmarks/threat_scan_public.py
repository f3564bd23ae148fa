"""How often threat-scan refuses public Markdown files.

``python benchmarks/threat_scan_public.py FOLDER``

FOLDER holds files of other people, such as clones of public repositories: AGENTS.md, SKILL.md,
READMEs, rules. Each is scanned as what would persist, a skill or an instruction file. The table
shows the refusals of each rule; ``--list`` names every refused file with its reason, to be judged
by reading. Texts that occur twice count once.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path

from hookline_threat_scan.scanner import ThreatScanner
from hookline_threat_scan.text_use import TextUse

SUFFIXES = (".md", ".mdc", ".markdown")
_scanner = ThreatScanner()


def main() -> None:
    """Print the refusals of each rule, and of all files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", action="store_true", help="name the refused files")
    options = parser.parse_args()
    texts = _texts(options.folder)
    refused: Counter[str] = Counter()
    with ProcessPoolExecutor(2) as pool:
        for name, found in zip(texts, pool.map(_scan, texts.values(), chunksize=50), strict=True):
            if found is None:
                continue
            rule, reason = found
            refused[rule] += 1
            if options.list:
                _say(f"{name}: {reason}")
    for rule, count in refused.most_common():
        _say(f"{rule}: {count}")
    total = sum(refused.values())
    _say(f"{total} of {len(texts)} files refused, 1 in {len(texts) / max(1, total):.0f}")


def _texts(folder: Path) -> dict[str, str]:
    """The different texts below ``folder``, by name."""
    found: dict[bytes, tuple[str, str]] = {}
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() in SUFFIXES and file.is_file():
            data = file.read_bytes()
            name = str(file.relative_to(folder))
            found.setdefault(sha256(data).digest(), (name, data.decode("utf-8", "replace")))
    return dict(found.values())


def _scan(text: str) -> tuple[str, str] | None:
    finding = _scanner.certain(text, TextUse.GUIDANCE)
    return None if finding is None else (finding.rule, finding.reason())


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
