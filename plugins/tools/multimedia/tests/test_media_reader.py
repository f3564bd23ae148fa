"""Readable media: the workspace, allowed folders, the chat's own files, public addresses."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Attachment
from hypothesis import given
from hypothesis import strategies as st

GUARDED = pytest.mark.parametrize(
    "name",
    [
        "../outside.png",
        "/etc/passwd",
        "a/../../outside.png",
        ".env",
        "id_rsa",
        "~/.ssh/id_ed25519",
        "/proc/self/environ",
        "a" * 5000,
    ],
)


@GUARDED
def test_guarded_paths_are_refused(media_tools: Any, server: Any, png: bytes, name: str) -> None:
    (media_tools.harness.home / "outside.png").parent.mkdir(parents=True, exist_ok=True)
    (media_tools.harness.home / "outside.png").write_bytes(png)
    media_tools.file(".env", png)
    media_tools.file("id_rsa", png)
    assert media_tools.text("describe_image", image=name).startswith("Denied: ")
    assert server.requests == []


@pytest.mark.parametrize("name", ["nothing.png", "", ".", "a\nb.png"])
def test_missing_file_is_an_error(media_tools: Any, server: Any, name: str) -> None:
    text = media_tools.text("describe_image", image=name)
    assert text.startswith(("Error: ", "Denied: "))
    assert server.requests == []


def test_file_type_is_taken_from_the_content(media_tools: Any, server: Any, png: bytes) -> None:
    media_tools.file("notes.png", b"These are no pictures, but notes.")
    media_tools.file("page.png", b"<svg xmlns='http://www.w3.org/2000/svg'></svg>")
    media_tools.file("picture.mp3", png)
    for name in ("notes.png", "page.png"):
        assert "is not a PNG, JPEG, GIF or WebP by its content" in media_tools.text(
            "describe_image", image=name
        )
    assert "is not OGG, MP3" in media_tools.text("transcribe_audio", audio="picture.mp3")
    assert server.requests == []
    assert media_tools.text("describe_image", image="picture.mp3") == server.seen


def test_gigabyte_file_is_not_read(media_tools: Any, server: Any, png: bytes) -> None:
    path = media_tools.file("huge.png", png)
    os.truncate(path, 1_000_000_000)
    text = media_tools.text("describe_image", image="huge.png")
    assert text == "Error: 'huge.png' has 1000.0 MB; at most 20.0 MB are allowed"
    assert "at most 25.0 MB" in media_tools.text("transcribe_audio", audio="huge.png")
    assert server.requests == []


def test_pipe_does_not_block_the_turn(media_tools: Any) -> None:
    media_tools.file("x", b"")
    os.mkfifo(media_tools.harness.workspace / "pipe.png")
    assert media_tools.text("describe_image", image="pipe.png").startswith("Denied: ")


# Allowed folders


@pytest.fixture
def album(tmp_path: Path, png: bytes) -> Path:
    """A folder outside of the workspace."""
    folder = tmp_path / "album"
    (folder / "2024").mkdir(parents=True)
    (folder / "2024" / "a.png").write_bytes(png)
    return folder


def test_file_in_an_allowed_folder_is_read(
    make_media_tools: Callable[..., Any], server: Any, album: Path
) -> None:
    wanted = str(album / "2024" / "a.png")
    assert make_media_tools().text("describe_image", image=wanted).startswith("Denied: ")
    media_tools = make_media_tools(allowed_read_dirs=[str(album)])
    assert media_tools.text("describe_image", image=wanted) == server.seen
    assert media_tools.text("describe_image", image=f"{album}/2024/../2024/a.png") == server.seen


def test_link_out_of_an_allowed_folder_is_refused(
    make_media_tools: Callable[..., Any], server: Any, album: Path, tmp_path: Path, png: bytes
) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "b.png").write_bytes(png)
    (album / "link.png").symlink_to(tmp_path / "private" / "b.png")
    (album / "folder").symlink_to(tmp_path / "private")
    (album / "circle.png").symlink_to(album / "circle.png")
    media_tools = make_media_tools(allowed_read_dirs=[str(album)])
    for name in ("link.png", "folder/b.png", "../private/b.png", "circle.png"):
        text = media_tools.text("describe_image", image=str(album / name))
        assert text.startswith("Denied: "), (name, text)
    assert server.requests == []


def test_secret_file_in_an_allowed_folder_is_refused(
    make_media_tools: Callable[..., Any], server: Any, album: Path, png: bytes
) -> None:
    (album / ".ssh").mkdir()
    secrets = (".env", "id_rsa", ".ssh/a.png", "server.pem")
    for name in secrets:
        (album / name).write_bytes(png)
    media_tools = make_media_tools(allowed_read_dirs=[str(album)])
    for name in secrets:
        text = media_tools.text("describe_image", image=str(album / name))
        assert text.startswith("Denied: "), name
        assert "secrets" in text
    assert server.requests == []


def test_pipe_or_folder_in_an_allowed_folder_is_refused(
    make_media_tools: Callable[..., Any], server: Any, album: Path
) -> None:
    os.mkfifo(album / "pipe.png")
    media_tools = make_media_tools(allowed_read_dirs=[str(album)])
    for name in ("pipe.png", "2024"):
        text = media_tools.text("describe_image", image=str(album / name))
        assert text.startswith(("Denied: ", "Error: ")), name
    assert server.requests == []


def test_allowed_folder_above_hooklines_home_does_not_open_it(
    make_media_tools: Callable[..., Any], server: Any, tmp_path: Path, png: bytes
) -> None:
    media_tools = make_media_tools(allowed_read_dirs=[str(tmp_path)])
    for name in ("backups/a.png", "chats/telegram/7/work/a.png"):
        path = media_tools.harness.home / name
        path.parent.mkdir(parents=True)
        path.write_bytes(png)
        text = media_tools.text("describe_image", image=str(path))
        assert text.startswith("Denied: "), name
    assert server.requests == []


# The chat's own files


def test_attached_pipe_does_not_block_the_turn(
    media_tools: Any, server: Any, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "a.png")
    came = Attachment(tmp_path / "a.png", "image/png", "a.png", 9, origins=())
    call = calls("describe_image", image=str(came.path))
    media_tools.say("what is seen?", call, "Nothing.", attachments=(came,))
    assert server.requests == []


def test_attached_file_can_be_read_in_its_chat(
    media_tools: Any, server: Any, tmp_path: Path, tone: Callable[[str], bytes]
) -> None:
    path = tmp_path / "inbox-7.bin"
    path.write_bytes(tone("mp3"))
    came = Attachment(path, "audio/mpeg", "memo.mp3", path.stat().st_size, origins=())
    listen = calls("transcribe_audio", audio=str(path))
    media_tools.say("what is said?", listen, "A lamp.", attachments=(came,))
    assert len(server.asked("audio/transcriptions")) == 1
    media_tools.say("and again?", listen, "Still a lamp.")
    assert len(server.asked("audio/transcriptions")) == 2
    media_tools.say("and I?", listen, "No.", chat="another")
    assert len(server.asked("audio/transcriptions")) == 2


@pytest.mark.parametrize("name", ["notes.png", "../config.yaml", f"{'0' * 32}.png/../notes.png"])
def test_media_folder_gives_only_generated_files(
    media_tools: Any, server: Any, png: bytes, name: str
) -> None:
    media = media_tools.harness.home / "media"
    media.mkdir(parents=True)
    (media / "notes.png").write_bytes(png)
    assert media_tools.text("describe_image", image=f"{media}/{name}").startswith("Denied: ")
    assert server.requests == []


def test_link_in_the_media_folder_is_not_followed(
    media_tools: Any, server: Any, png: bytes, tmp_path: Path
) -> None:
    media = media_tools.harness.home / "media"
    media.mkdir(parents=True)
    (tmp_path / "other.png").write_bytes(png)
    (media / f"{'0' * 32}.png").symlink_to(tmp_path / "other.png")
    text = media_tools.text("describe_image", image=f"{media}/{'0' * 32}.png")
    assert text.startswith("Error: ")
    assert server.requests == []


# Addresses


def test_private_address_is_refused(media_tools: Any, make_server: Callable[..., Any]) -> None:
    site = make_server()
    for url in (f"{site.url}/a.png", "http://169.254.169.254/latest", "http://[::1]/a.png"):
        assert media_tools.text("describe_image", image=url).startswith("Denied: ")
        assert media_tools.text("transcribe_audio", audio=url).startswith("Denied: ")
    assert site.requests == []


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://a/b.png", "data:image/png;base64,AA=="]
)
def test_other_schemes_are_refused(media_tools: Any, server: Any, url: str) -> None:
    text = media_tools.text("describe_image", image=url)
    assert text.startswith("Error: only http, https and paths can be read")
    assert server.requests == []


OPEN = {"network.allow_hosts": ["127.0.0.1"]}


def test_allowed_private_address_is_read(
    make_media_tools: Callable[..., Any], server: Any, make_server: Callable[..., Any], png: bytes
) -> None:
    site = make_server()
    site.files["/a"] = png
    site.files["/text.png"] = b"no picture"
    media_tools = make_media_tools(core=OPEN)
    assert media_tools.text("describe_image", image=f"{site.url}/a") == server.seen
    assert "by its content" in media_tools.text("describe_image", image=f"{site.url}/text.png")
    assert media_tools.text("describe_image", image=f"{site.url}/b").endswith("answered 404")


def test_large_response_is_not_read_to_its_end(
    make_media_tools: Callable[..., Any], server: Any, make_server: Callable[..., Any], png: bytes
) -> None:
    site = make_server()
    site.files["/a.png"] = png + bytes(5_000_000)
    media_tools = make_media_tools(core=OPEN, max_image_bytes=1_000_000)
    assert media_tools.text("describe_image", image=f"{site.url}/a.png").startswith("Error: ")
    assert server.requests == []


@pytest.mark.slow
@given(name=st.text(max_size=60))
def test_any_file_name_gives_a_sentence(media_tools: Any, server: Any, name: str) -> None:
    text = media_tools.text("describe_image", image=name)
    assert text.startswith(("Denied: ", "Error: "))
    assert "describe_image failed" not in text
    assert server.requests == []
