"""Verification: recomputes the chain and compares it with the rows and the checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hookline_hookspecs import Transaction

from .chain import START, row_hash
from .checkpoints import Checkpoints
from .entries import AuditEntry, EntryReader
from .sealer import read_state


@dataclass(slots=True)
class VerificationReport:
    """The result of :func:`verify`.

    ``broken`` describes the first broken row and ``what`` is the kind of its fault: ``changed
    deleted inserted moved truncated gap unknown_key checkpoint anchor``. Both are empty if all is
    well. ``nodes`` holds lowest number, highest number and count of the rows of each node,
    ``erasures`` the keys destroyed on purpose, and ``missing`` a row for each missing key.
    ``unreadable`` holds the rows of each missing key, and ``erased_rows`` how many it had when it
    was destroyed.
    """

    rows: int = 0
    first: int = 0
    last: int = 0
    erased: int = 0
    checkpoints: int = 0
    what: str = ""
    seq: int = 0
    broken: str = ""
    nodes: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    erasures: set[str] = field(default_factory=set)
    missing: dict[str, int] = field(default_factory=dict)
    unreadable: dict[str, list[int]] = field(default_factory=dict)
    erased_rows: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is broken."""
        return not self.what

    def fail(self, what: str, seq: int, reason: str) -> None:
        """Record a fault, unless an earlier row has one."""
        if not self.what or seq < self.seq:
            self.what, self.seq, self.broken = what, seq, reason

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON."""
        names = ("rows", "first", "last", "erased", "checkpoints", "what", "seq", "broken")
        return {"ok": self.ok, **{name: asdict(self)[name] for name in names}}


async def verify(reader: EntryReader, checkpoints: Checkpoints, storage: Any) -> VerificationReport:
    """Check every row and checkpoint, and that no row is missing."""
    report = VerificationReport()
    signed = _signed_checkpoints(checkpoints, report)

    def read(tx: Transaction) -> Mapping[str, Any]:
        return read_state(tx, "anchor")

    anchor = await storage.transact(read)
    seq, sha, before = 0, START, {}
    if anchor:
        if checkpoints.is_signed(anchor):
            seq, sha, before = int(anchor["seq"]), str(anchor["sha"]), anchor["nodes"]
        else:
            report.fail(
                "anchor", 0, "the anchor, where the chain starts after pruning, is not signed"
            )
    await reader.load()
    await _check_sealed_rows(reader, report, signed, seq, sha)
    for entry in [
        reader.entry(row) for row in await storage.fetch("unsealed", since=0, limit=100_000)
    ]:
        _count_row(report, entry, report.last + 1)
        if entry.state == "foreign":
            report.fail(
                "inserted",
                report.last + 1,
                f"{_describe(entry)} is not sealed and was not written by Hookline",
            )
    _check_numbers(report, before)
    _check_keys(report)
    later = [seq for seq in signed if seq > report.last]
    if later:
        line = signed[max(later)]
        report.fail(
            "truncated",
            report.last + 1,
            f"the chain ends with row {report.last}, but a checkpoint signed row {line['seq']}: "
            f"rows {report.last + 1} to {line['seq']} were cut off",
        )
    return report


def _signed_checkpoints(
    checkpoints: Checkpoints, report: VerificationReport
) -> dict[int, Mapping[str, Any]]:
    signed: dict[int, Mapping[str, Any]] = {}
    for number, line in checkpoints.read():
        if line is None or not checkpoints.is_signed(line):
            reason = f"line {number} of {checkpoints.path} is not a checkpoint signed by this home"
            report.fail("checkpoint", 0, reason)
            continue
        report.checkpoints += 1
        signed[int(line["seq"])] = line
    return signed


async def _check_sealed_rows(
    reader: EntryReader,
    report: VerificationReport,
    signed: Mapping[int, Mapping[str, Any]],
    seq: int,
    sha: str,
) -> None:
    """Check the sealed rows after row ``seq``."""
    report.last = seq
    async for entry in reader.sealed(seq):
        row = entry.stored
        report.rows += 1
        report.first = report.first or row["seq"]
        if row["seq"] != seq + 1:
            missing = (
                f"row {seq + 1} is"
                if row["seq"] == seq + 2
                else f"rows {seq + 1} to {row['seq'] - 1} are"
            )
            report.fail("deleted", seq + 1, f"{missing} missing before {_describe(entry)}")
        elif row["sha"] != row_hash(sha, row):
            report.fail(*_hash_mismatch(entry))
        elif entry.state == "foreign":
            report.fail(
                "inserted",
                row["seq"],
                f"{_describe(entry)} is sealed but was not written by Hookline",
            )
        line = signed.get(row["seq"])
        if line is not None and line["sha"] != row["sha"]:
            report.fail(
                "changed",
                row["seq"],
                f"{_describe(entry)} differs from the one that a checkpoint signed",
            )
        _count_row(report, entry, row["seq"])
        seq, sha = row["seq"], row["sha"] or START
        report.last = seq


def _hash_mismatch(entry: AuditEntry) -> tuple[str, int, str]:
    """The fault of a row whose hash does not match the row and the one before it."""
    seq = entry.stored["seq"]
    if entry.state == "foreign":
        return (
            "changed",
            seq,
            f"{_describe(entry)} was changed or inserted: it is not what Hookline wrote",
        )
    if entry.state == "erased":
        return "changed", seq, f"{_describe(entry)} was changed: its hash does not match"
    return (
        "moved",
        seq,
        f"{_describe(entry)} does not follow the row before it: its position or hash was changed",
    )


def _count_row(report: VerificationReport, entry: AuditEntry, seq: int) -> None:
    """Count a row by node; remember its key if missing, and the keys that it erased."""
    row = entry.stored
    node, n = row["node"], row["n"]
    low, high, count = report.nodes.get(node, (n, n, 0))
    report.nodes[node] = (min(low, n), max(high, n), count + 1)
    if entry.state == "erased":
        report.erased += 1
        report.missing.setdefault(row["kid"], seq)
        report.unreadable.setdefault(row["kid"], []).append(seq)
    elif entry.state == "ok" and row["kind"] == "access" and row["verdict"] == "erased":
        detail = entry.personal.get("detail", {})
        report.erasures.update(detail.get("keys", ()))
        report.erased_rows.update(detail.get("rows", {}))


def _check_numbers(report: VerificationReport, before: Mapping[str, int]) -> None:
    """Find gaps: each node numbers its rows from 1."""
    for node, (_, high, count) in report.nodes.items():
        pruned = before.get(node, 0)
        if high - pruned != count:
            reason = (
                f"node {node} wrote {high - pruned} rows, but {count} exist: rows were deleted "
                f"before they were sealed"
            )
            report.fail("gap", report.last + 1, reason)


def _check_keys(report: VerificationReport) -> None:
    for kid, seq in report.missing.items():
        if kid not in report.erasures:
            reason = (
                f"row {seq} cannot be read: its key {kid} is gone, and no row records an erasure"
            )
            report.fail("unknown_key", seq, reason)
        rows = report.unreadable[kid]
        count = report.erased_rows.get(kid, len(rows))
        if len(rows) > count:
            reason = (
                f"{len(rows)} rows have the erased key {kid}, which had {count} when it was "
                "erased: rows were inserted"
            )
            report.fail("inserted", rows[count], reason)


def _describe(entry: AuditEntry) -> str:
    """A row as a fault names it."""
    row = entry.stored
    name = f"row {row['seq']}" if row["seq"] is not None else "a row"
    return f"{name} ({entry.time}, {row['kind']}, number {row['n']} of node {row['node']})"
