"""Which entries count for a member who trusts certain keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline_teamskills import InvalidEntry, InvalidKey, Ledger, Signer, TeamEntry
from hookline_teamskills.ledger import SeenVersions
from hypothesis import given
from hypothesis import strategies as st

FILES = {"SKILL.md": "0" * 64}


@pytest.fixture
def people(tmp_path: Path) -> dict[str, Signer]:
    return {name: Signer.open(tmp_path / name, name) for name in ("ann", "ben", "eve")}


def said(signer: Signer, kind: str, number: int = 1, **more: Any) -> TeamEntry:
    author = more.pop("of_author", signer)
    entry = TeamEntry("ship", number, kind, 5, "", "", author.name, author.key, files=FILES, **more)  # type: ignore[arg-type]
    return signer.sign(entry)


def approved(people: dict[str, Signer], by: str = "ben", number: int = 1) -> list[TeamEntry]:
    ann = people["ann"]
    return [said(ann, "proposed", number), said(people[by], "approved", number, of_author=ann)]


def test_version_approved_by_a_trusted_reviewer_is_active(people: dict[str, Signer]) -> None:
    ledger = Ledger(approved(people), {people["ben"].key})
    active = ledger.active("ship")
    assert active is not None
    assert (active.number, active.state, active.reviewer) == (1, "approved", "ben")


def test_entry_of_an_untrusted_key_does_not_count(people: dict[str, Signer]) -> None:
    ledger = Ledger(approved(people, by="eve"), {people["ben"].key})
    assert ledger.active("ship") is None
    assert "not in plugins.skills.trust" in ledger.refused("ship")[0]


def test_entry_changed_after_signing_does_not_count(people: dict[str, Signer]) -> None:
    proposal, approval = approved(people)
    for change in (
        {"files": {"SKILL.md": "1" * 64}},
        {"author": "ben"},
        {"origins": (("a", "b"),)},
    ):
        forged = replace(approval, **change)  # type: ignore[arg-type]
        ledger = Ledger([proposal, forged], {people["ben"].key})
        assert ledger.active("ship") is None
        assert "forged" in ledger.refused("ship")[0]


def test_unsigned_entry_does_not_count(people: dict[str, Signer]) -> None:
    proposal, approval = approved(people)
    ledger = Ledger([proposal, replace(approval, signature="")], {people["ben"].key})
    assert ledger.refused("ship") == ["version 1 is not loaded: it is not signed"]


def test_author_cannot_approve_own_version(people: dict[str, Signer]) -> None:
    ledger = Ledger(approved(people, by="ann"), {people["ann"].key})
    assert ledger.refused("ship") == ["version 1 is not loaded: its author approved it"]


def test_forged_version_does_not_hide_the_previous_one(people: dict[str, Signer]) -> None:
    entries = [*approved(people), *approved(people, by="eve", number=2)]
    ledger = Ledger(entries, {people["ben"].key})
    active = ledger.active("ship")
    assert active is not None
    assert active.number == 1
    assert len(ledger.refused("ship")) == 1


@pytest.mark.parametrize("by", ["ben", "eve"])
def test_revocation_by_anyone_counts(people: dict[str, Signer], by: str) -> None:
    entries = [*approved(people), said(people[by], "revoked", of_author=people["ann"])]
    ledger = Ledger(entries, {people["ben"].key})
    assert ledger.active("ship") is None
    assert f"revoked by {by}" in ledger.withheld("ship")


def test_deleted_revocation_is_remembered(people: dict[str, Signer]) -> None:
    trust = {people["ben"].key}
    before = Ledger([*approved(people), said(people["ben"], "revoked")], trust)
    after = Ledger(approved(people), trust, before.seen())
    assert after.active("ship") is None
    assert "no longer says so" in after.withheld("ship")


def test_rolled_back_store_is_detected(people: dict[str, Signer]) -> None:
    ledger = Ledger(approved(people), {people["ben"].key}, SeenVersions({"ship": 4}))
    assert ledger.active("ship") is None
    assert "gone back in time" in ledger.withheld("ship")


def test_rejection_by_a_stranger_does_not_count(people: dict[str, Signer]) -> None:
    proposal = said(people["ann"], "proposed")
    for by, state in (("eve", "proposed"), ("ben", "rejected"), ("ann", "rejected")):
        entries = [proposal, said(people[by], "rejected", of_author=people["ann"])]
        assert Ledger(entries, {people["ben"].key}).versions("ship")[0].state == state


@given(data=st.binary(max_size=300) | st.text(max_size=80).map(str.encode))
def test_invalid_data_is_no_entry(data: bytes) -> None:
    with pytest.raises(InvalidEntry):
        TeamEntry.from_json(data, "ship", 1, "proposed")


def test_entry_is_read_as_it_was_written(people: dict[str, Signer]) -> None:
    entry = said(people["ann"], "proposed", origins=(("outside", "https://x.example/ü"),))
    assert TeamEntry.from_json(entry.to_json(), "ship", 1, "proposed") == entry
    with pytest.raises(InvalidEntry, match="another version"):
        TeamEntry.from_json(entry.to_json(), "ship", 2, "proposed")


def test_key_is_kept_and_private(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "key.json"
    first = Signer.open(file, "ann")
    assert Signer.open(file).key == first.key
    assert Signer.open(file, "Ann B.").key == first.key
    assert Signer.open(file).name == "Ann B."
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("{}", "utf-8")
    with pytest.raises(InvalidKey, match="restore it from a backup"):
        Signer.open(file)
