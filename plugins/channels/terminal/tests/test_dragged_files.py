"""Files that were dragged into the window, and the clipboard."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from urllib.parse import quote

import pytest
from hookline_terminal.clipboard import read_clipboard
from hookline_terminal.dragged_files import dragged_paths, image_attachment

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    """A picture whose name needs quotes."""
    file = tmp_path / "my shot (1).png"
    file.write_bytes(PNG)
    return file


def test_dragged_paths_reads_every_quoting_of_terminals(shot: Path) -> None:
    escaped = str(shot).replace(" ", r"\ ").replace("(", r"\(").replace(")", r"\)")
    for pasted in (
        str(shot),
        f"'{shot}'",
        f'"{shot}" ',
        escaped,
        f"file://{quote(str(shot))}",
        f"file://localhost{quote(str(shot))}\n",
    ):
        assert dragged_paths(pasted) == [shot]
    assert dragged_paths(f"'{shot}' {escaped}") == [shot, shot]
    assert dragged_paths(f"file://{quote(str(shot))}\nfile://{quote(str(shot))}\n") == [shot, shot]


def test_ordinary_text_is_no_dragged_file(shot: Path) -> None:
    for pasted in (
        "",
        "/",
        "/help",
        "/no/such/file",
        f"see {shot}",
        shot.name,
        "it's",
        f"file://elsewhere{quote(str(shot))}",
        f"https://example.org{shot}",
        "/\0",
        "/" + "x" * 5_000,
        "a\n" * 50,
    ):
        assert dragged_paths(pasted) == []


def test_picture_is_detected_by_content(shot: Path, tmp_path: Path) -> None:
    found = image_attachment(shot)
    assert found is not None
    assert (found.mime, found.name, found.size) == ("image/png", shot.name, len(PNG))
    fake = tmp_path / "fake.png"
    fake.write_text("no picture")
    assert (
        image_attachment(fake)
        is image_attachment(tmp_path)
        is image_attachment(tmp_path / "gone.png")
        is None
    )


def install(folder: Path, name: str, script: str) -> None:
    """Put a program there."""
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_clipboard_gives_picture_text_or_nothing(
    tmp_path: Path, shot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    screen = {"WAYLAND_DISPLAY": "wayland-1"}
    install(tmp_path, "wl-paste", f'test "$2" = image/png && exec cat "{shot}"; exit 1')
    assert asyncio.run(read_clipboard(screen)).picture == PNG
    install(tmp_path, "wl-paste", 'test "$1" = --no-newline && printf "some text"')
    assert asyncio.run(read_clipboard(screen)).text == "some text"
    install(tmp_path, "wl-paste", "exit 1")
    empty = asyncio.run(read_clipboard(screen))
    assert (empty.picture, empty.text, empty.missing) == (b"", "", False)
    assert asyncio.run(read_clipboard({})).missing
