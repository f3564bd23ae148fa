"""The folder ``media``: unguessable names, private files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hookline_hookspecs.speech import is_kept, keep, media_folder, open_kept, prune


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The media folder of a home that has none yet."""
    return media_folder(tmp_path)


def test_media_file_is_private_to_its_owner(folder: Path) -> None:
    path = keep(folder, b"sound", ".ogg")
    assert path.read_bytes() == b"sound"
    assert (path.parent, path.suffix) == (folder, ".ogg")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_media_files_of_equal_content_have_different_names(folder: Path) -> None:
    assert keep(folder, b"x", ".mp3") != keep(folder, b"x", ".mp3")


def test_kept_media_file_can_be_opened(folder: Path) -> None:
    path = keep(folder, b"sound", ".ogg")
    assert is_kept(path.name)
    with open_kept(folder, path.name) as stream:
        assert stream.read() == b"sound"


HEX = "0" * 32


@pytest.mark.parametrize(
    "name", ["", "a.png", f"../{HEX}.png", f"{HEX}.png/x", f"{HEX}", HEX.upper()]
)
def test_other_names_in_media_are_refused(folder: Path, name: str) -> None:
    keep(folder, b"x", ".png")
    assert not is_kept(name)
    with pytest.raises(OSError, match="not the name of a kept file"):
        open_kept(folder, name)


def test_media_entry_that_is_not_a_regular_file_is_refused(folder: Path, tmp_path: Path) -> None:
    keep(folder, b"x", ".png")
    (tmp_path / "secret").write_text("secret")
    (folder / f"{HEX}.png").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / f"{HEX}.mp3")
    (folder / f"{HEX}.wav").mkdir()
    for suffix in (".png", ".mp3", ".wav"):
        with pytest.raises(OSError):  # noqa: PT011 - the system's own, or "is no file"
            open_kept(folder, HEX + suffix)


def test_only_old_kept_files_are_deleted(folder: Path) -> None:
    assert prune(folder, 1e12) == 0
    old, new, other = keep(folder, b"x", ".png"), keep(folder, b"x", ".png"), folder / "other.png"
    other.write_text("not ours")
    for path in (old, other):
        os.utime(path, (1, 1))
    assert prune(folder, 1000.0) == 1
    assert sorted(folder.iterdir()) == sorted([new, other])
