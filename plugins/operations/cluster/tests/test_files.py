"""Files that the machines of a cluster share."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Cluster

SCRIPT = """steps:
- {when: "^write", tools: [{name: write_file, arguments: {path: note.txt, content: "kept"}}]}
- {when: "^read", tools: [{name: read_file, arguments: {path: note.txt}}]}
- {when: "kept", text: "it is there"}
- {when: ".", text: "done", repeat: true}
"""


@pytest.mark.slow
def test_chat_files_are_shared_by_all_machines(cluster: Cluster, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    cluster.script = SCRIPT
    cluster.plugins |= {"cluster": {"files": str(shared)}, "files": {}}
    cluster.start("gateway", "gateway", "--no-turns")
    first = cluster.start("w1", "worker")
    cluster.post("gateway", "m1", "write")
    assert cluster.replies.wait_for(1) == ["done"]
    assert (shared / "chats" / "webhook" / "c1" / "note.txt").read_text() == "kept"
    assert first.end() == 0
    second = cluster.start("w2", "worker")
    cluster.post("gateway", "m2", "read")
    assert cluster.replies.answer_to("m2")["text"] == "it is there"
    assert (second.home / "media").resolve() == shared / "media"


@pytest.mark.slow
def test_existing_local_files_stop_start_and_are_named(cluster: Cluster, tmp_path: Path) -> None:
    cluster.plugins |= {"cluster": {"files": str(tmp_path / "shared")}}
    media = cluster.machine("gateway").home / "media"
    media.mkdir()
    (media / "old.png").touch()
    code, _, err = cluster.run("gateway", "gateway", "--no-turns")
    assert code == 2
    assert f"{media} has files. Move them to {tmp_path / 'shared' / 'media'}" in err
