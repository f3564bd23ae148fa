"""Files of chats: found, read, locked, replaced."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hookline_hookspecs import Session
from hookline_hookspecs.chat_files import (
    MAX_FILE_BYTES,
    Chat,
    FileProblem,
    TextFile,
    locked,
    storable,
)
from hypothesis import given
from hypothesis import strategies as st


def file_at(path: Path) -> TextFile:
    return TextFile(path, path.name)


@given(st.text(), st.text())
def test_chat_has_its_own_folder(channel: str, chat_id: str) -> None:
    chat = Chat.of(Session("s", channel, chat_id, None, 0.0))
    parts = chat.folder.split("/")
    assert len(parts) == 3
    assert not {"", ".", ".."} & set(parts)
    if chat.channel and chat.chat_id:
        assert Chat.at(Path("/home") / chat.folder / "FILE.md") == chat


@given(st.text(alphabet=st.characters()))
def test_storable_text_is_utf8_without_nul(text: str) -> None:
    assert "\0" not in storable(text)
    storable(text).encode("utf-8")


def test_chat_file_reads_what_was_written(tmp_path: Path) -> None:
    file = file_at(tmp_path / "new" / "a.md")
    assert file.read() is None
    file.write("größe\n".encode())
    assert file.decoded(file.read() or b"") == "größe\n"
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o777 == 0o700


def test_chat_file_write_keeps_mode_and_link(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "real.md").chmod(0o640)
    (tmp_path / "link.md").symlink_to("real.md")
    file_at(tmp_path / "link.md").write(b"new")
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == "new"
    assert (tmp_path / "real.md").stat().st_mode & 0o777 == 0o640


def make_large(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(MAX_FILE_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "why"),
    [(os.mkfifo, "regular file"), (os.mkdir, "regular file"), (make_large, "more than 1,000,000")],
)
def test_chat_file_that_is_not_a_text_file_is_refused(
    tmp_path: Path, make: object, why: str
) -> None:
    path = tmp_path / "a.md"
    make(path)  # type: ignore[operator]
    with pytest.raises(FileProblem, match=why):
        file_at(path).read()
    assert path.exists()


def test_encoding_error_names_the_byte(tmp_path: Path) -> None:
    file = file_at(tmp_path / "a.md")
    with pytest.raises(FileProblem, match=r"a\.md is not UTF-8 \(byte 3\)"):
        file.decoded(b"gr\xf6")


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_at(tmp_path / "a.md")
    file.write(b"old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileProblem, match="No space left"):
        file.write(b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.md", b"old")]


def test_lock_excludes_others_and_names_its_purpose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline_hookspecs.chat_files.text_file.LOCK_TIMEOUT", 0.05)
    file, held, done = file_at(tmp_path / "a.md"), threading.Event(), threading.Event()

    def hold() -> None:
        with locked([file], tmp_path / "locks"):
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    try:
        waiting = locked([file], tmp_path / "locks")
        with pytest.raises(FileProblem, match=r"another process is writing a\.md"), waiting:
            pass
    finally:
        done.set()
        thread.join()
    with locked([file, file], tmp_path / "locks"):
        file.write(b"mine")
    assert file.read() == b"mine"


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("telegram:222", ("telegram", "222")),
        ("telegram:work:222", ("telegram:work", "222")),
        ("telegram:workshop:222", ("telegram", "workshop:222")),
        ("feishu:oc_1:om_2", ("feishu", "oc_1:om_2")),
        ("gone:222", ("gone", "222")),
        ("telegram:", None),
        (":222", None),
        ("telegram", None),
    ],
)
def test_chat_label_matches_the_longest_channel_name(
    label: str, found: tuple[str, str] | None
) -> None:
    chat = Chat.named(label, ["telegram", "telegram:work", "feishu"])
    assert (chat and (chat.channel, chat.chat_id)) == found


@given(st.sampled_from(["telegram", "telegram:work"]), st.from_regex(r"-?[0-9]+", fullmatch=True))
def test_chat_label_leads_back_to_its_chat(channel: str, chat_id: str) -> None:
    chat = Chat(channel, chat_id)
    assert Chat.named(chat.label, ["telegram", "telegram:work"]) == chat
