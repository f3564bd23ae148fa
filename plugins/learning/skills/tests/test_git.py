"""Installing from a real git repository over https, with hostile content."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hookline_hookspecs import HooklineError
from hookline_skills import lockfile
from support.git_server import GitServer, git, serving

from .conftest import Bench, skill_text
from .test_install import install

pytestmark = pytest.mark.skipif(
    not shutil.which("git") or not shutil.which("openssl"), reason="needs git and openssl"
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with one skill, on the branch ``main``, and one file more on ``next``."""
    work = tmp_path / "work"
    (work / "skills" / "tidy-up" / "scripts").mkdir(parents=True)
    (work / "skills" / "tidy-up" / "SKILL.md").write_text(skill_text("tidy-up"), "utf-8")
    (work / "skills" / "tidy-up" / "scripts" / "run.sh").write_text("touch ran\n")
    git(work, "init", "-q", "-b", "main")
    commit(work, "first")
    git(work, "checkout", "-q", "-b", "next")
    (work / "skills" / "tidy-up" / "NEWS.md").write_text("news")
    commit(work, "second")
    git(work, "checkout", "-q", "main")
    return work


def commit(work: Path, text: str) -> None:
    """Commit everything."""
    git(work, "add", "-A", "-f")
    git(work, "commit", "-q", "-m", text)


@pytest.fixture
def server(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    """The repository behind https, whose certificate git is told of; publish with ``publish``."""
    repositories = tmp_path / "repositories"
    repositories.mkdir()
    publish(work, tmp_path)
    with serving(repositories, tmp_path) as found:
        monkeypatch.setenv("GIT_SSL_CAINFO", str(found.certificate))
        yield found


def publish(work: Path, tmp_path: Path) -> None:
    """Make the bare repository that is served."""
    target = tmp_path / "repositories" / "skills.git"
    shutil.rmtree(target, ignore_errors=True)
    git(tmp_path, "clone", "-q", "--bare", str(work), str(target))


@pytest.fixture
def local(make_bench: Callable[..., Bench]) -> Bench:
    """A bench that may reach this machine."""
    return make_bench(core={"network.allow_hosts": ["localhost"]})


@pytest.mark.slow
def test_skill_is_installed_from_a_repository(local: Bench, server: GitServer) -> None:
    assert install(local, server.url) == ["tidy-up"]
    assert local.text("tidy-up") == skill_text("tidy-up")
    entry = lockfile.read(local.root)["tidy-up"]
    assert entry.source == server.url
    assert len(entry.revision) == 40
    assert not list((local.root / ".quarantine").iterdir())
    assert not (local.root / "tidy-up" / "NEWS.md").exists()


@pytest.mark.slow
def test_skill_is_installed_from_a_branch(local: Bench, server: GitServer) -> None:
    assert install(local, f"{server.url}#next") == ["tidy-up"]
    assert local.text("tidy-up", "NEWS.md") == "news"
    with pytest.raises(HooklineError, match="git could not fetch the repository"):
        install(local, f"{server.url}#no-such-branch", replace=True)


def test_private_address_is_refused_before_git_runs(bench: Bench, server: GitServer) -> None:
    with pytest.raises(HooklineError):
        install(bench, server.url.replace("localhost", "127.0.0.1"))
    assert server.asked == []


@pytest.mark.slow
def test_links_and_submodules_are_not_installed(
    local: Bench, server: GitServer, work: Path, tmp_path: Path
) -> None:
    (work / "skills" / "tidy-up" / "link").symlink_to("/etc/passwd")
    commit(work, "link")
    publish(work, tmp_path)
    with pytest.raises(HooklineError, match="a link or a device"):
        install(local, server.url)
    (work / "skills" / "tidy-up" / "link").unlink()
    (work / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = x\n\turl = {server.url}/inner\n')
    git(work, "add", ".gitmodules")
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},x")
    git(work, "commit", "-q", "-a", "-m", "submodule")
    publish(work, tmp_path)
    assert install(local, server.url) == ["tidy-up"]
    assert not [path for path, _ in server.asked if "inner" in path]


@pytest.mark.slow
def test_git_ignores_foreign_config_hooks_filters_and_credentials(
    local: Bench, server: GitServer, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "person"
    (home / "template" / "hooks").mkdir(parents=True)
    hook = home / "template" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (home / ".gitconfig").write_text(
        f"[init]\n\ttemplateDir = {home}/template\n"
        f'[filter "evil"]\n\tsmudge = touch {tmp_path}/ran\n'
        f"\tclean = cat\n[credential]\n\thelper = !touch {tmp_path}/ran\n"
        f'[url "https://localhost:1/"]\n\tinsteadOf = {server.url}\n'
        '[http]\n\textraHeader = "X-Secret: 1"\n'
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "http.extraHeader")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "X-Other: 1")
    (work / ".gitattributes").write_text("* filter=evil\n")
    commit(work, "attributes")
    publish(work, tmp_path)
    assert install(local, server.url) == ["tidy-up"]
    assert not list(tmp_path.rglob("ran"))
    sent = {name for _, headers in server.asked for name in headers}
    assert not {"X-Secret", "X-Other", "Authorization"} & sent


@pytest.mark.slow
def test_redirect_is_not_followed(local: Bench, server: GitServer) -> None:
    server.redirect = "https://localhost:1"
    with pytest.raises(HooklineError, match="git could not fetch the repository"):
        install(local, server.url)
    assert len(server.asked) == 1
