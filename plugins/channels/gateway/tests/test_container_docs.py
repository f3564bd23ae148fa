"""The page about containers: its config loads, its commands exist, its backup can be restored."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import Gateways, Platform, end

ROOT = Path(__file__).parents[4]
if not (ROOT / "core").is_dir():
    pytest.skip("the plugin stands alone, without the repository", allow_module_level=True)
PAGE = ROOT / "docs" / "gateway.md"
BLOCK = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^ *```$", re.S | re.M)
BLOCKS = [(match[2], match[3]) for match in BLOCK.finditer(PAGE.read_text("utf-8"))]


def commands() -> list[str]:
    """Every ``hookline …`` of the page that is one line of a shell, without its program."""
    lines = [line for kind, text in BLOCKS if kind == "console" for line in text.splitlines()]
    found = [re.search(r"(?:^|/bin/|hookline )hookline ((?!-)[^\"]+)$", line) for line in lines]
    return list(dict.fromkeys(match[1] for match in found if match))


@pytest.mark.slow
def test_every_documented_command_exists(gateways: Gateways) -> None:
    gateways.configure()
    assert len(commands()) > 6
    groups = {" ".join(command.split()[:2]) for command in commands()}
    for group in sorted(groups):
        words = group.split() if group.startswith("pairing") else group.split()[:1]
        code, said, err = gateways.run(*words, "--help")
        assert (code, err) == (0, ""), group
        assert "Usage" in said


@pytest.mark.slow
def test_documented_config_is_valid(gateways: Gateways) -> None:
    gateways.configure()
    gateways.env["HOOKLINE_WEBHOOK_SECRET"] = "0123456789abcdef"
    for kind, text in BLOCKS:
        if kind == "yaml":
            (gateways.home / "config.yaml").write_text(text)
            code, out, err = gateways.run("config", "check")
            assert (code, err) == (0, ""), out


@pytest.mark.slow
def test_documented_backup_is_complete_while_gateway_runs(
    gateways: Gateways, platform: Platform
) -> None:
    gateways.configure(platform)
    process, _ = gateways.start()
    gateways.say("m1")
    assert platform.answer_to("m1") == "answered"
    (line,) = [text for kind, text in BLOCKS if kind == "console" and "sqlite3" in text]
    code = re.search(r'"(.*)"', line)
    assert code is not None
    backup = gateways.folder / "backup.db"
    database = gateways.home / "hookline.db"
    done = subprocess.run([sys.executable, "-c", code[1], str(database), str(backup)], timeout=60)
    assert done.returncode == 0
    assert end(process)[0] == 0
    for name in ("hookline.db-wal", "hookline.db-shm"):
        (gateways.home / name).unlink(missing_ok=True)
    backup.replace(database)
    with closing(sqlite3.connect(database)) as opened, opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    opened.close()
    process, _ = gateways.start()
    gateways.say("m1")  # which is known
    gateways.say("m2")
    assert platform.answer_to("m2") == "answered"
    assert end(process)[0] == 0
    assert [body["in_reply_to"] for body in platform.all] == ["m1", "m2"]
