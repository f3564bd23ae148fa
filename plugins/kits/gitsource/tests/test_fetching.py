"""Repositories are fetched over https alone, and at one commit."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hookline.testing import Harness
from hookline_gitsource import fetch_repository
from hookline_hookspecs import Host, Plugin, Refused
from hookline_hookspecs.plugin import NoConfig
from support.git_server import GitServer, git, serving


class Fetcher(Plugin[NoConfig]):
    """Has a host."""


@pytest.fixture
def h(harness: Callable[..., Harness]) -> Harness:
    return harness(Fetcher, core={"network.allow_hosts": ["localhost"]})


def host(h: Harness) -> Host:
    return h.plugin(Fetcher).host


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/a.git",
        "git://localhost/a.git",
        "file:///etc",
        "ext::sh -c id",
        "https://user:secret@localhost/a.git",
        "https://localhost/a.git?x=1",
        "https://127.0.0.1/a.git",
    ],
)
def test_other_addresses_are_refused(h: Harness, tmp_path: Path, url: str) -> None:
    with pytest.raises(Refused):
        h.run(fetch_repository(host(h), url, "", tmp_path))


@pytest.mark.parametrize("reference", ["--upload-pack=id", "a b", "a;id"])
def test_reference_that_is_none_is_refused(h: Harness, tmp_path: Path, reference: str) -> None:
    with pytest.raises(Refused):
        h.run(fetch_repository(host(h), "https://localhost/a.git", reference, tmp_path))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    """A repository with two commits."""
    if not shutil.which("git") or not shutil.which("openssl"):
        pytest.skip("needs git and openssl")
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    for text in ("first", "second"):
        (work / "note").write_text(text)
        git(work, "add", "note")
        git(work, "commit", "-q", "-m", text)
    repositories = tmp_path / "repositories"
    repositories.mkdir()
    git(tmp_path, "clone", "-q", "--bare", str(work), str(repositories / "skills.git"))
    git(repositories / "skills.git", "config", "uploadpack.allowAnySHA1InWant", "true")
    with serving(repositories, tmp_path) as found:
        monkeypatch.setenv("GIT_SSL_CAINFO", str(found.certificate))
        yield found


@pytest.mark.long
@pytest.mark.parametrize(("revision", "text"), [("main", "second"), ("main~1", "first")])
def test_one_commit_is_fetched(
    h: Harness, server: GitServer, tmp_path: Path, revision: str, text: str
) -> None:
    command = ["git", "-C", str(tmp_path / "work"), "rev-parse", revision]
    commit = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    into = tmp_path / "into"
    into.mkdir()
    archive, found = h.run(fetch_repository(host(h), server.url, commit, into))
    assert found == commit
    with tarfile.open(archive) as file:
        content = file.extractfile("note")
        assert content is not None
        assert content.read().decode() == text
