"""Piped text is added to the prompt; a silent pipe never hangs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from hookline_hookspecs import CommandError
from hookline_run import stdin
from hookline_run.stdin import MAX_STDIN_BYTES, with_piped_text

Feed = Callable[[bytes], None]


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Feed]:
    """Make stdin a pipe with these bytes, which has ended."""
    opened = []

    def feed(data: bytes) -> None:
        reader, writer = os.pipe()
        process = os.fork() if len(data) > 60_000 else None
        if process == 0:
            os.close(reader)
            try:
                while data:
                    data = data[os.write(writer, data) :]
            finally:
                os._exit(0)
        if process is None:
            os.write(writer, data)
        os.close(writer)
        opened.append(file := os.fdopen(reader))
        monkeypatch.setattr(sys, "stdin", file)

    yield feed
    for file in opened:
        file.close()


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"a diff\n", "Review.\n\n```\na diff\n```"),
        (b"no end", "Review.\n\n```\nno end\n```"),
        (b"```py\nx\n````\n", "Review.\n\n`````\n```py\nx\n````\n`````"),
        (b"", "Review."),
        (b" \n", "Review."),
        (b"\xff!", "Review.\n\n```\n\ufffd!\n```"),
    ],
)
def test_piped_text_is_fenced_below_prompt(piped: Feed, data: bytes, wanted: str) -> None:
    piped(data)
    assert with_piped_text("Review.") == wanted


def test_too_long_stdin_is_cut_with_a_note(piped: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    piped("ä".encode() * MAX_STDIN_BYTES)
    text = with_piped_text("Review.")
    note = f"Only the first {MAX_STDIN_BYTES:,} bytes of stdin are above; the rest was left out."
    assert text.endswith(f"ä\n```\n[{note}]")
    assert text.count("ä") == MAX_STDIN_BYTES // 2
    assert note in capsys.readouterr().err


def test_binary_input_is_refused(piped: Feed) -> None:
    piped(b"\x89PNG\r\n\x1a\n\0\0")
    with pytest.raises(CommandError) as caught:
        with_piped_text("Review.")
    assert caught.value.text.endswith("Pass an image with --image")


def test_silent_pipe_is_ignored_after_timeout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader) as file, os.fdopen(writer, "w"):
        monkeypatch.setattr(sys, "stdin", file)
        monkeypatch.setattr(stdin, "PIPE_TIMEOUT", 0.05)
        assert with_piped_text("Review.") == "Review."
    assert "no input on stdin" in capsys.readouterr().err


def test_device_or_closed_stdin_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert with_piped_text("Review.") == "Review."
    assert with_piped_text("Review.") == "Review."  # closed
    monkeypatch.setattr(sys, "stdin", None)
    assert with_piped_text("Review.") == "Review."
    monkeypatch.setattr(sys, "stdin", StringIO("x"))
    assert with_piped_text("Review.") == "Review."


def test_stdin_file_is_read_only_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "list").write_text("one\ntwo\n", "utf-8")
    with (tmp_path / "list").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        os.lseek(file.fileno(), 4, os.SEEK_SET)  # as `while read line` has it
        assert with_piped_text("Review.") == "Review."
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        assert with_piped_text("Review.") == "Review.\n\n```\none\ntwo\n```"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "wanted"),
    [("what is new?\n", (0, "nothing\n")), ("", (2, "")), (None, (2, "")), ("silent", (2, ""))],
)
def test_piped_text_without_prompt_is_the_prompt(
    tmp_path: Path, given: str | None, wanted: tuple[int, str]
) -> None:
    steps = "steps: [{when: '^what is new\\?$', text: nothing}]\n"
    (tmp_path / "model.yaml").write_text(steps, "utf-8")
    command = [sys.executable, "-m", "hookline", "run", "--model", "scripted/model.yaml"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "HOOKLINE_HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        if given == "silent":  # as under cron: it is never written to or closed
            assert process.stdout is not None
            assert process.stderr is not None
            code = process.wait(60)
            out, errors = process.stdout.read(), process.stderr.read()
        else:
            out, errors = process.communicate(given, 60)
            code = process.returncode
    assert (code, out) == wanted
    assert ("Missing argument 'PROMPT'." in errors) == (code == 2)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the other end is looked for in /proc")
def test_slow_program_in_pipeline_is_waited_for(tmp_path: Path) -> None:
    script = "from hookline_run.stdin import with_piped_text; print(with_piped_text('Review.'))"
    command = f'(sleep 1.5; echo late) | {sys.executable} -c "{script}"'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stdout == "Review.\n\n```\nlate\n```\n"


@pytest.mark.slow
def test_run_ends_while_parent_keeps_pipe_open(tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text("steps: [{when: '^Review\\.$', text: ok}]\n", "utf-8")
    command = [sys.executable, "-m", "hookline", "run", "Review.", "--model", "scripted/model.yaml"]
    environment = {**os.environ, "HOOKLINE_HOME": str(tmp_path / "home")}
    started = time.monotonic()
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=-1, stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == "ok\n"
        assert "no input on stdin" in process.stderr.read()
    assert time.monotonic() - started < 60
