"""What was changed: the chain is made anew and compared, and so are its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hookline_hookspecs import Transaction

from .chain import START, chained
from .checkpoints import Checkpoints
from .reading import Entry, Reader
from .sealer import state_of


@dataclass(slots=True)
class Finding:
    """What :func:`verify` has found. ``broken`` is a sentence about the first broken row, and
    ``what`` the kind of its fault: ``changed deleted inserted moved truncated gap unknown_key
    checkpoint anchor``; empty if all is well."""

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

    @property
    def ok(self) -> bool:
        """True if nothing is broken."""
        return not self.what

    def fail(self, what: str, seq: int, told: str) -> None:
        """Note a fault, unless an earlier row has one."""
        if not self.what or seq < self.seq:
            self.what, self.seq, self.broken = what, seq, told

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        names = ("rows", "first", "last", "erased", "checkpoints", "what", "seq", "broken")
        return {"ok": self.ok, **{name: asdict(self)[name] for name in names}}


async def verify(reader: Reader, checkpoints: Checkpoints, storage: Any) -> Finding:
    """Check every row, every checkpoint, and that no row is missing; see :class:`Finding`."""
    found = Finding()
    signed = _signed_checkpoints(checkpoints, found)

    def look(tx: Transaction) -> Mapping[str, Any]:
        return state_of(tx, "anchor")

    anchor = await storage.transact(look)
    seq, sha, before = 0, START, {}
    if anchor:
        if checkpoints.is_signed(anchor):
            seq, sha, before = int(anchor["seq"]), str(anchor["sha"]), anchor["nodes"]
        else:
            found.fail("anchor", 0, "the anchor, where pruning let the chain begin, is not signed")
    await reader.load()
    await _walk(reader, found, signed, seq, sha, before)
    for entry in [
        reader.entry(row) for row in await storage.fetch("unsealed", since=0, limit=100_000)
    ]:
        _count(found, entry, found.last + 1, before)
        if entry.state == "foreign":
            found.fail(
                "inserted",
                found.last + 1,
                f"{_named(entry)} is not sealed, and Hookline has not written it",
            )
    _missing_numbers(found, before)
    _missing_keys(found)
    later = [one for one in signed if one > found.last]
    if later:
        line = signed[max(later)]
        found.fail(
            "truncated",
            found.last + 1,
            f"the chain ends with row {found.last}, but a checkpoint has signed row {line['seq']}: "
            f"rows {found.last + 1} to {line['seq']} were cut off",
        )
    return found


def _signed_checkpoints(checkpoints: Checkpoints, found: Finding) -> dict[int, Mapping[str, Any]]:
    signed: dict[int, Mapping[str, Any]] = {}
    for number, line in checkpoints.read():
        if line is None or not checkpoints.is_signed(line):
            told = f"line {number} of {checkpoints.path} is no checkpoint that this home has signed"
            found.fail("checkpoint", 0, told)
            continue
        found.checkpoints += 1
        signed[int(line["seq"])] = line
    return signed


async def _walk(
    reader: Reader,
    found: Finding,
    signed: Mapping[int, Mapping[str, Any]],
    seq: int,
    sha: str,
    before: Mapping[str, int],
) -> None:
    """Check the sealed rows that follow row ``seq``."""
    found.last = seq
    async for entry in reader.sealed(seq):
        row = entry.stored
        found.rows += 1
        found.first = found.first or row["seq"]
        if row["seq"] != seq + 1:
            gone = (
                f"row {seq + 1} is"
                if row["seq"] == seq + 2
                else f"rows {seq + 1} to {row['seq'] - 1} are"
            )
            found.fail("deleted", seq + 1, f"{gone} missing before {_named(entry)}")
        elif row["sha"] != chained(sha, row):
            found.fail(*_misfit(entry))
        elif entry.state == "foreign":
            found.fail(
                "inserted",
                row["seq"],
                f"{_named(entry)} is chained, but Hookline has not written it",
            )
        line = signed.get(row["seq"])
        if line is not None and line["sha"] != row["sha"]:
            found.fail(
                "changed",
                row["seq"],
                f"{_named(entry)} is not the one that a checkpoint has signed",
            )
        _count(found, entry, row["seq"], before)
        seq, sha = row["seq"], row["sha"] or START
        found.last = seq


def _misfit(entry: Entry) -> tuple[str, int, str]:
    """What happened to a row whose hash does not fit the row and the one before it."""
    seq = entry.stored["seq"]
    if entry.state == "foreign":
        return (
            "changed",
            seq,
            f"{_named(entry)} was changed, or put there: it is not what Hookline has written",
        )
    if entry.state == "erased":
        return "changed", seq, f"{_named(entry)} was changed: its hash does not fit"
    return (
        "moved",
        seq,
        f"{_named(entry)} does not follow the row before it: its place or its hash was changed",
    )


def _count(found: Finding, entry: Entry, seq: int, before: Mapping[str, int]) -> None:
    """Take note of a row's number on its node, of its key, and of an erasure."""
    row = entry.stored
    node, n = row["node"], row["n"]
    low, high, count = found.nodes.get(node, (n, n, 0))
    found.nodes[node] = (min(low, n), max(high, n), count + 1)
    if entry.state == "erased":
        found.erased += 1
        found.missing.setdefault(row["kid"], seq)
    elif entry.state == "ok" and row["kind"] == "access" and row["verdict"] == "erased":
        found.erasures.update(entry.personal.get("detail", {}).get("keys", ()))


def _missing_numbers(found: Finding, before: Mapping[str, int]) -> None:
    """Each node numbers its rows from 1, so a row that was deleted leaves a gap."""
    for node, (_, high, count) in found.nodes.items():
        begun = before.get(node, 0)
        if high - begun != count:
            told = (
                f"node {node} has written {high - begun} rows and {count} are there: rows were "
                f"deleted before they were sealed"
            )
            found.fail("gap", found.last + 1, told)


def _missing_keys(found: Finding) -> None:
    for kid, seq in found.missing.items():
        if kid not in found.erasures:
            told = (
                f"row {seq} cannot be read: its key {kid} is gone, and no erasure is written down"
            )
            found.fail("unknown_key", seq, told)


def _named(entry: Entry) -> str:
    """A row as a finding names it."""
    row = entry.stored
    place = f"row {row['seq']}" if row["seq"] is not None else "a row"
    return f"{place} ({entry.time}, {row['kind']} on node {row['node']}, its number {row['n']})"
