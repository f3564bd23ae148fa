"""Commands without a current folder, an input or an output that can be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
COMMANDS = [["--version"], ["--help"], ["plugins", "list"], ["config", "show"]]


def hookline(home: Path, words: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    environment = {"HOOKLINE_HOME": str(home), "PATH": "/usr/bin:/bin", "HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "hookline", *words],
        env=environment, stderr=subprocess.PIPE, text=True, timeout=120, check=False, **options,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_full_disk_is_one_sentence(tmp_path: Path, words: list[str]) -> None:
    with FULL.open("w") as full:
        done = hookline(tmp_path, words, stdout=full)
    assert done.stderr == "hookline: Standard output cannot be written: the disk is full.\n"
    assert done.returncode == 1


@pytest.mark.long
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["run", "hi"], ["run", "hi", "--json"], ["chat"]], ids=" ".join)
def test_answer_on_a_full_disk_is_one_sentence(tmp_path: Path, words: list[str]) -> None:
    model = tmp_path / "model.yaml"
    model.write_text("steps: [{text: hello, repeat: true}]\n")
    (tmp_path / "config.yaml").write_text(f"model: scripted/{model}\n")
    with FULL.open("w") as full:
        done = hookline(tmp_path, words, stdout=full, input="hi\n")
    assert "hookline: Standard output cannot be written: the disk is full.\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 1


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="a current folder cannot be deleted")
def test_deleted_folder_is_one_sentence(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m hookline plugins list"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.startswith("hookline: The current folder no longer exists.")
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_closed_output_is_one_sentence(tmp_path: Path) -> None:
    script = f"exec {sys.executable} -m hookline plugins list >&-"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.startswith("hookline: Standard output is closed.")
