"""Values derived from files are cached until one of the files changes in any way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline_hookspecs.caching import FileCache, Watch
from hookline_hookspecs.caching.files import SETTLE_NANOSECONDS


@pytest.fixture(autouse=True)
def older_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the files of a test look older."""
    now = time.time_ns
    monkeypatch.setattr(
        "hookline_hookspecs.caching.files.time.time_ns", lambda: now() + 2 * SETTLE_NANOSECONDS
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "real.md").write_text("one")
    (tmp_path / "link.md").symlink_to("real.md")
    return tmp_path


def make_cache(folder: Path) -> FileCache[str, str]:
    """A cache of something made of everything in a folder, and of a file that is missing."""
    watch = Watch()
    for name in ("real.md", "link.md", "missing.md", "rules"):
        watch.look(folder / name)
    watch.look_at_folder(folder)
    files: FileCache[str, str] = FileCache()
    files.put("key", "made", watch)
    return files


def write_same_size(folder: Path) -> None:
    (folder / "real.md").write_text("two")


def write_with_old_times(folder: Path) -> None:
    before = (folder / "real.md").stat()
    (folder / "real.md").write_text("two")
    os.utime(folder / "real.md", ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(folder: Path) -> None:
    (folder / "new.md").write_text("one")
    (folder / "new.md").replace(folder / "real.md")


def lead_elsewhere(folder: Path) -> None:
    (folder / "other.md").write_text("one")
    (folder / "link.md").unlink()
    (folder / "link.md").symlink_to("other.md")


def remove(folder: Path) -> None:
    (folder / "real.md").unlink()


def make(folder: Path) -> None:
    (folder / "missing.md").write_text("here")


def add_to_listed(folder: Path) -> None:
    (folder / "rules" / "a.mdc").write_text("rule")


def protect(folder: Path) -> None:
    (folder / "real.md").chmod(0o400)


CHANGES = (
    write_same_size,
    write_with_old_times,
    replace,
    lead_elsewhere,
    remove,
    make,
    add_to_listed,
    protect,
)


@pytest.mark.parametrize("change", CHANGES)
def test_file_cache_notices_changes(folder: Path, change: Callable[[Path], None]) -> None:
    files = make_cache(folder)
    assert files.get("key") == "made"
    change(folder)
    assert files.get("key") is None


def test_file_cache_ignores_unrelated_files(folder: Path) -> None:
    files = make_cache(folder)
    (folder / "beside.md").write_text("new")
    assert files.get("key") == "made"


def test_file_cache_notices_a_relinked_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "work").symlink_to("a")
    watch = Watch()
    watch.look_at_folder(tmp_path / "work")
    (tmp_path / "work").unlink()
    (tmp_path / "work").symlink_to("b")
    assert not watch.is_unchanged()


def test_file_cache_rereads_a_file_written_just_now(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the files are as new as they are
    assert make_cache(folder).get("key") is None


def test_file_cache_keeps_only_the_newest_entries(folder: Path) -> None:
    files: FileCache[int, str] = FileCache(most=2)
    for number in range(3):
        watch = Watch()
        watch.look(folder / "real.md")
        files.put(number, "made", watch)
    assert [files.get(number) for number in range(3)] == [None, "made", "made"]
