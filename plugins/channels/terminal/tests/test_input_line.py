"""Pastes, dragged files, the editor and the clipboard, on the screen and as the model gets them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from support.openai_server import OpenAIServer, Reply
from support.terminal import TerminalScreen

from .test_dragged_files import PNG, install

Open = Callable[..., TerminalScreen]
IMAGE = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


@pytest.fixture
def programs(tmp_path: Path, env: dict[str, str]) -> Path:
    """A folder of programs that comes first on the path, with an editor and a clipboard."""
    folder = tmp_path / "programs"
    folder.mkdir()
    shot = tmp_path / "clipboard.png"
    shot.write_bytes(PNG)
    install(folder, "wl-paste", f'test "$2" = image/png && exec cat "{shot}"; exit 1')
    install(folder, "append", 'printf "%s\\n" "a line of the editor" >> "$1"')
    env |= {"PATH": f"{folder}:{env['PATH']}", "WAYLAND_DISPLAY": "wayland-1", "EDITOR": "append"}
    return folder


@pytest.fixture
def server(home: Path) -> Iterator[OpenAIServer]:
    """A model that numbers its answers; the home leads to it."""
    home.mkdir(mode=0o700)
    with OpenAIServer([f"Answer {n}." for n in range(20)]) as serving:
        where = {"base_url": serving.base_url, "api_key": "sk-test-1234567890"}
        config = {"providers": {"openai": where}, "plugins": {"titles": False, "review": False}}
        (home / "config.yaml").write_text(json.dumps(config), "utf-8")
        yield serving


def send(chat: TerminalScreen, server: OpenAIServer, rest: str = "") -> str:
    """Type the rest of a message and Enter; the request that came of it, as JSON."""
    number = len(server.requests)
    chat.type(f"{rest}\r")
    chat.wait_for(f"Answer {number}.")
    return json.dumps(server.requests[-1].json, ensure_ascii=False)


@pytest.mark.slow
def test_editor_dragged_file_and_clipboard_reach_the_model(
    programs: Path, server: OpenAIServer, screen: Open, work: Path, tmp_path: Path
) -> None:
    shot, notes = tmp_path / "my shot.png", work / "my notes.txt"
    shot.write_bytes(PNG)
    notes.write_text("Remember the milk.", "utf-8")
    outside = tmp_path / "plain.txt"
    outside.write_text("Outside.", "utf-8")
    chat = screen("chat", "--model", "openai/gpt-5.5")
    chat.wait_for("›")

    chat.type("first\x07")  # Ctrl-G
    chat.wait_for("a line of the editor")
    assert "first\\na line of the editor" in send(chat, server)

    for pasted in (f"'{shot}'", str(shot).replace(" ", "\\ "), f"file://{quote(str(shot))}"):
        chat.paste(pasted)
        chat.wait_for(": my shot.png]")
        assert IMAGE in send(chat, server, " what is it?")

    for pasted in (f'"{notes}"', str(notes).replace(" ", "\\ "), f"file://{quote(str(notes))}"):
        chat.paste(pasted)
        chat.wait_for('› @"my notes.txt"')
        assert "Remember the milk." in send(chat, server)
    chat.paste(f"file://{quote(str(outside))}")
    chat.wait_for(f"› {str(outside)[:40]}")
    chat.type("\x1b\x1b")

    chat.type("\x16")  # Ctrl-V
    chat.wait_for(": pasted.png]")
    assert send(chat, server, " and this").count(IMAGE) == 4


@pytest.mark.slow
def test_failed_editor_keeps_draft(programs: Path, server: OpenAIServer, screen: Open) -> None:
    install(programs, "append", "exit 1")
    chat = screen("chat", "--model", "openai/gpt-5.5")
    chat.wait_for("›")
    chat.type("my draft\x07")
    chat.wait_for("append failed; the draft is unchanged.")
    assert "› my draft" in chat.settle()


@pytest.mark.slow
def test_rate_limit_restart_and_reasoning_are_shown(home: Path, screen: Open) -> None:
    replies = [
        Reply(status=429, headers={"retry-after": "3"}, body={"error": {"message": "slow down"}}),
        Reply(
            "The whole answer.\n\nIts second paragraph, which goes on and on.",
            cut_after=6,
            pace=0.2,
        ),
        Reply("The whole answer.", reasoning="I weigh the two ways.", pace=0.2),
    ]
    home.mkdir(mode=0o700)
    with OpenAIServer(replies) as serving:
        where = {"base_url": serving.base_url, "api_key": "sk-test-1234567890"}
        config = {"providers": {"local": {"driver": "openai", **where}}}
        (home / "config.yaml").write_text(json.dumps(config), "utf-8")
        chat = screen("chat", "--model", "local/thinker")
        chat.wait_for("›")
        chat.type("go\r")
        waits: set[int] = set()

        def seconds_seen() -> bool:
            found = re.search(r"rate-limited by local; trying again in (\d) s", chat.text)
            waits.update({int(found[1])} if found else ())
            return len(waits) > 1

        chat.wait_until(seconds_seen, "seconds that count down")
        chat.wait_for("The connection broke; the answer starts again. The text above will be\n")
        chat.wait_for("  repeated.\n")
        chat.wait_for("I weigh")
        assert b"\x1b[0;90m" in chat.raw[chat.raw.index(b"starts again") :]
        chat.wait_for("thought for")
        chat.wait_until(lambda: chat.text.endswith("cost unknown"), "the end")
        assert chat.settle().count("The whole answer.") == 2
        assert "I weigh" not in chat.text


@pytest.mark.slow
def test_escape_ends_the_wait_for_a_server_that_is_down(home: Path, screen: Open) -> None:
    home.mkdir(mode=0o700)
    down = Reply(status=503, headers={"retry-after": "200"}, body={"error": {"message": "down"}})
    with OpenAIServer([down, "Up again."]) as serving:
        where = {"base_url": serving.base_url, "api_key": "sk-test-1234567890"}
        config = {"providers": {"local": {"driver": "openai", **where}}}
        (home / "config.yaml").write_text(json.dumps(config), "utf-8")
        chat = screen("chat", "--model", "local/thinker")
        chat.wait_for("›")
        chat.type("go\r")
        chat.wait_for("local is overloaded; trying again in 19")
        chat.wait_for("esc stops")
        chat.type("\x1b")
        chat.wait_for("Stopped.")
        chat.type("/retry\r")
        chat.wait_for("Up again.")
