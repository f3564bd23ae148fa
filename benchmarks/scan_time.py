"""What redaction and threat scanning take: ``python benchmarks/scan_time.py``.

Each text is redacted and scanned as a whole, as the gates ``pre_learn`` and ``pre_read`` do. The
texts: ``notes`` is prose with a secret now and then, ``mixed`` repeats it with code, tables and
other scripts. No text holds a threat, because a scan ends at the first. The table tells
milliseconds a KB (1,024 characters), by the clock and of processor time; where they grow with the
length of the text, something is not linear.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from hookline_redact.redactor import Redactor
from hookline_threat_scan.scanner import TextUse, ThreatScanner
from run import surroundings

KB = 1024
SIZES = {"1 KB": KB, "100 KB": 100 * KB, "1 MB": KB * KB}
SAMPLES, QUICK = 5, 1
NOTES = """\
The user prefers short answers and works on Linux. Deploys happen on Fridays, after the tests have
passed on the staging server (10.0.0.12). Ask before running migrations; never commit to main.
Order 112-1234567-1234567 was shipped on 2026-01-15.
The fix is commit 9fceb02d0ae598e95dc970b74767f19372d61af8.
Contact: bob@example.com, +1 415 555 2671. The password is rotated every 90 days.
"""
MIXED = (
    NOTES
    + """\
## Configuration
| key | default | what |
|---|---|---|
| `timeout` | 30 | seconds until the request to https://api.example.com/v1 ends |

```python
def load(path: Path, token: str | None = None) -> dict[str, str]:
    return json.loads(path.read_text("utf-8"))  # raises OSError
```
Der Benutzer möchte vor dem Löschen gefragt werden. L'utilisateur préfère des réponses courtes.
Пользователь просит сообщать об ошибках. 用户喜欢简短的回答。 ユーザーは短い回答を好みます。
يفضل المستخدم الإجابات القصيرة. 사용자는 짧은 답변을 좋아합니다. उपयोगकर्ता छोटे उत्तर पसंद करता है।
"""
)
TEXTS = {"notes": NOTES, "mixed": MIXED}


@dataclass(frozen=True)
class Row:
    """Milliseconds a KB of one job on one text of one size: by the clock, of the processor."""

    job: str
    text: str
    size: str
    values: tuple[tuple[float, float], ...]

    def cells(self) -> tuple[str, ...]:
        """The row's cells."""
        middle = (median(one) for one in zip(*self.values, strict=True))
        return (self.job, self.text, self.size, *(f"{value:.2f}" for value in middle))


def jobs() -> dict[str, Callable[[str], object]]:
    """What is measured, warmed up: tables are read and patterns compiled at the first use."""
    redactor, scanner = Redactor(), ThreatScanner()
    found: dict[str, Callable[[str], object]] = {
        "redact": redactor.redact,
        "threat-scan, guidance": lambda text: checked(scanner, text, TextUse.GUIDANCE),
        "threat-scan, data": lambda text: checked(scanner, text, TextUse.DATA),
    }
    for job in found.values():
        job(MIXED)
    return found


def checked(scanner: ThreatScanner, text: str, audience: TextUse) -> None:
    """Scan; end if a threat was found, because the scan was shorter then."""
    finding = scanner.scan(text, audience)
    if finding is not None:
        raise SystemExit(f"scan_time: the text is no ordinary one: {finding.reason()}")


def rows(samples: int) -> Iterator[Row]:
    """All rows, as they are measured."""
    for name, job in jobs().items():
        for kind, text in TEXTS.items():
            for size, length in SIZES.items():
                whole = (text * (length // len(text) + 1))[:length]
                yield Row(name, kind, size, tuple(once(job, whole) for _ in range(samples)))


def once(job: Callable[[str], object], text: str) -> tuple[float, float]:
    """Milliseconds a KB, by the clock and of processor time."""
    begin, busy = perf_counter(), process_time()
    job(text)
    factor = 1e3 / (len(text) / KB)
    return (perf_counter() - begin) * factor, (process_time() - busy) * factor


def markdown(measured: list[Row]) -> str:
    """The rows as a table."""
    head = ("job", "text", "size", "ms a KB", "ms CPU a KB")
    lines = [head, ("---",) * len(head), *(row.cells() for row in measured)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure redaction and threat scanning.")
    add = parser.add_argument
    add("--quick", action="store_true", help=f"{QUICK} sample instead of {SAMPLES}: a rough look")
    add("--json", type=Path, metavar="FILE", help="write all samples to FILE")
    options = parser.parse_args()
    samples = QUICK if options.quick else SAMPLES
    before, measured = surroundings(), []
    for row in rows(samples):
        measured.append(row)
        sys.stderr.write("  ".join(row.cells()) + "\n")
    sys.stdout.write(f"{markdown(measured)}\n\n{before}; medians of {samples}\n")
    if options.json is not None:
        entries = [{"row": row.cells()[:3], "values": row.values} for row in measured]
        options.json.write_text(
            json.dumps({"surroundings": before, "rows": entries}, indent=1), "utf-8"
        )


if __name__ == "__main__":
    main()
