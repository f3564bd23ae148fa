"""What a one-shot run imports, as imports take most of its start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

UNUSED = {
    "cryptography",
    "hookline_access.cli",
    "hookline_access.pages",
    "hookline_compaction.compaction_pass",
    "hookline_configure.pages",
    "hookline_insights.pages",
    "hookline_inspect.pages",
    "hookline_memory.pages",
    "hookline_memory.terms",
    "hookline_osv.client",
    "hookline_provenance.pages",
    "hookline_session_search.search",
    "hookline_skills.pages",
    "hookline.store.sqlite.fulltext",
    "hookline_threat_scan.vocabulary",
    "hookline_user_model.pages",
    "hookline_hookspecs.web",
}
"""Modules that a turn without tools, pages, facts, searches and secrets does without."""


@pytest.mark.slow
def test_run_does_not_import_modules_of_tools_pages_and_search(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "hookline", "--home", str(tmp_path)]
    done = subprocess.run(
        [*command, "run", "/whoami"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    imported = {line.rpartition("|")[2].strip() for line in lines}
    assert "hookline_memory.plugin" in imported
    assert not imported & UNUSED
    assert not {name for name in imported if name.partition(".")[0] in ("openai", "anthropic")}
