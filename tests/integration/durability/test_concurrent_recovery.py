"""Several processes recover one home at the same time."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from support.durability import recovery_program

PROGRAM = Path(recovery_program.__file__)


def start(home: Path, what: str) -> subprocess.Popen[str]:
    """Start one of them."""
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(home), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [1, 2, 3])
def test_concurrent_recovery_answers_a_chat_in_order(tmp_path: Path, crowd: int) -> None:
    home = tmp_path / "home"
    for _ in range(3):
        gone = start(home, "leave")
        gone.communicate(timeout=50)
        assert gone.returncode == 0
        crew = [start(home, "answer") for _ in range(crowd)]
        try:
            for one in crew:
                assert one.stdout is not None
                assert one.stdout.readline() == "ready\n"
            for one in crew:
                assert one.stdin is not None
                one.stdin.write("\n")
                one.stdin.flush()
            for one in crew:
                _, err = one.communicate(timeout=50)
                assert one.returncode == 0, err
        finally:
            for one in crew:
                one.kill()
        sent = defaultdict(list)
        for line in (home / "sent.log").read_text().split():
            chat, _, number = line.partition("-")
            sent[chat].append(int(number))
        wanted = list(range(recovery_program.MESSAGES))
        assert dict(sent) == {f"c{chat}": wanted for chat in range(recovery_program.CHATS)}
        for file in home.glob("hookline.db*"):
            file.unlink()
        (home / "sent.log").unlink()
