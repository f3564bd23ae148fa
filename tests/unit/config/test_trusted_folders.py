"""The folders that a person trusts, by ``hookline trust`` and the service ``FolderTrust``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.config.trusted_folders import FILE
from hookline.testing import Harness
from hookline_hookspecs import Host, Plugin, hookimpl
from hookline_hookspecs.folder_trust import FolderContent, FolderContentSource, FolderTrust
from hookline_hookspecs.plugin import NoConfig


def content_of(folder: Path) -> FolderContent | None:
    file = folder / "run-me"
    if not file.is_file():
        return None
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return FolderContent("programs", digest, ("runs run-me\n\x1b[2Jfoo",))


class Runner(Plugin[NoConfig]):
    """Has something to run in a folder."""

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.add(FolderContentSource, self)

    def describe(self, folder: Path) -> FolderContent | None:
        return content_of(folder)

    def state(self, folder: Path) -> str:
        content = content_of(folder)
        assert content is not None
        return self.host.services[FolderTrust].state(folder, content)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "run-me").write_text("echo 1")
    return folder


def test_trust_shows_the_content_and_covers_only_it(
    harness: Callable[..., Harness], project: Path
) -> None:
    h = harness(Runner)
    runner = h.plugin(Runner)
    assert runner.state(project) == "untrusted"
    done = h.cli(f"trust {project} --yes")
    assert done.exit_code == 0
    assert "runs run-me" in done.stdout
    assert "\x1b" not in done.stdout
    assert runner.state(project) == "trusted"
    (project / "run-me").write_text("echo 2")
    assert runner.state(project) == "changed"
    inner = project / "inner"
    inner.mkdir()
    (inner / "run-me").write_text("echo 1")
    assert runner.state(inner) == "untrusted"


def test_trust_without_a_terminal_needs_yes(harness: Callable[..., Harness], project: Path) -> None:
    h = harness(Runner)
    done = h.cli(f"trust {project}")
    assert done.exit_code == 2
    assert "--yes" in done.stderr
    assert h.plugin(Runner).state(project) == "untrusted"


def test_trust_can_be_listed_and_revoked(harness: Callable[..., Harness], project: Path) -> None:
    h = harness(Runner)
    h.cli(f"trust {project} --yes")
    listed = json.loads(h.cli("trust --list --json").stdout)
    assert [row["folder"] for row in listed] == [str(project)]
    assert h.cli(f"trust {project} --revoke").exit_code == 0
    assert h.plugin(Runner).state(project) == "untrusted"
    assert h.cli(f"trust {project} --revoke").exit_code == 1


def test_folder_without_content_needs_no_trust(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    h = harness(Runner)
    done = h.cli(f"trust {tmp_path} --yes --json")
    assert json.loads(done.stdout)["state"] == "nothing"


def test_damaged_file_trusts_nothing(harness: Callable[..., Harness], project: Path) -> None:
    h = harness(Runner)
    h.cli(f"trust {project} --yes")
    (h.home / FILE).write_text("{")
    assert h.plugin(Runner).state(project) == "untrusted"


def test_link_to_a_trusted_folder_is_the_same_folder(
    harness: Callable[..., Harness], project: Path, tmp_path: Path
) -> None:
    h = harness(Runner)
    h.cli(f"trust {project} --yes")
    (tmp_path / "link").symlink_to(project)
    assert h.plugin(Runner).state(tmp_path / "link") == "trusted"
