"""``plugins.lock``: complete, private, stable, and never overwritten when unreadable."""

from __future__ import annotations

import contextlib
import json
import re
import stat
from pathlib import Path

import pytest
from hookline_installer.lock import LockDamaged, LockEntry, LockFile
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"\A[a-z][a-z0-9-]{0,8}[a-z0-9]\Z")
ENTRIES = st.lists(
    st.builds(
        LockEntry,
        dist=NAMES,
        version=st.text(min_size=1, max_size=8),
        spec=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
        editable=st.none() | st.just("/a/folder"),
        plugins=st.lists(NAMES, max_size=3).map(tuple),
    ),
    max_size=5,
    unique_by=lambda entry: entry.dist,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["version", "dists", "dist", "spec", "x"]), inner)
    ),
)


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> LockFile:
    """One file for all examples."""
    return LockFile.in_home(tmp_path_factory.mktemp("home"))


@pytest.mark.slow
@given(ENTRIES)
def test_recorded_entries_are_read_back(lock: LockFile, entries: list[LockEntry]) -> None:
    lock.path.unlink(missing_ok=True)
    lock.record(reversed(entries))
    assert lock.read() == tuple(sorted(entries, key=lambda entry: entry.dist))
    before = lock.path.read_bytes()
    lock.record(entries)
    assert lock.path.read_bytes() == before
    assert stat.S_IMODE(lock.path.stat().st_mode) == 0o600
    assert [path.name for path in lock.path.parent.iterdir()] == ["plugins.lock"]
    lock.forget(entry.dist for entry in entries)
    assert lock.read() == ()


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_unreadable_lock_is_named_and_kept(lock: LockFile, content: bytes) -> None:
    lock.path.write_bytes(content)
    with contextlib.suppress(LockDamaged):
        entries = lock.read()
        assert json.loads(content)["version"] == 1
        assert len(entries) == len(json.loads(content)["dists"])
        return
    with pytest.raises(LockDamaged, match=re.escape(str(lock.path))):
        lock.record([LockEntry(dist="x", version="1", spec="x")])
    assert lock.path.read_bytes() == content


DAMAGES = {
    "newer": {"version": 2, "dists": []},
    "more": {"version": 1, "dists": [], "also": 1},
    "option": {"version": 1, "dists": [{"dist": "-r", "version": "1", "spec": "x"}]},
    "plugin": {
        "version": 1,
        "dists": [{"dist": "x", "version": "1", "spec": "x", "plugins": ["memory.limit"]}],
    },
    "twice": {"version": 1, "dists": [{"dist": "x", "version": "1", "spec": "x"}] * 2},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_lock_with_wrong_content_is_damaged(lock: LockFile, damage: str) -> None:
    lock.path.write_text(json.dumps(DAMAGES[damage]))
    with pytest.raises(LockDamaged):
        lock.read()


def test_lock_symlink_is_kept(tmp_path: Path) -> None:
    real, home = tmp_path / "real", tmp_path / "home"
    home.mkdir()
    (home / "plugins.lock").symlink_to(real)
    LockFile.in_home(home).record([LockEntry(dist="x", version="1", spec="x")])
    assert (home / "plugins.lock").is_symlink()
    assert "x" in real.read_text()
