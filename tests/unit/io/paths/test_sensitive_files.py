"""Credentials are refused, startup and control files asked about, everyday files allowed."""

from pathlib import Path

import pytest
import yaml
from hookline.io.paths import PathGuard
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

ATTEMPTS = yaml.load(
    Path(__file__).with_name("attempts.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


@pytest.fixture
def guard(tmp_path):
    """A session that was started in the person's home folder."""
    (tmp_path / "me").mkdir()
    return PathGuard(tmp_path / "me", [Path("/etc")], tmp_path / "me/.hookline")


@pytest.mark.parametrize("path", ATTEMPTS["read"])
def test_credentials_are_refused(guard, path):
    reason = guard.check_path(path)
    assert reason is not None
    assert "off limits" in reason


@pytest.mark.parametrize("path", ATTEMPTS["write"])
def test_startup_and_control_files_are_refused_or_asked_about(guard, path):
    reason = guard.check_path(path) or guard.caution(path)
    assert reason is not None
    assert reason.endswith(".")


@sampled("path", ATTEMPTS["ordinary"])
def test_everyday_files_are_allowed(guard, path):
    assert guard.check_path(path) is None
    assert guard.caution(path) is None


@pytest.mark.parametrize(
    ("workspace", "path"),
    [
        (".config", "systemd/user/x.service"), (".config", "git/config"), (".config", "gh/a"),
        (".config/systemd", "user/x.service"), (".git", "hooks/pre-commit"), (".git/hooks", "x"),
        ("Library", "LaunchAgents/x.plist"), (".local", "bin/ls"), (".github", "workflows/x.yml"),
        (".local/share", "keyrings/login.keyring"), (".aws", "credentials"), (".claude", "x.md"),
    ],
)  # fmt: skip
def test_control_files_are_found_wherever_the_workspace_begins(tmp_path, workspace, path):
    (tmp_path / workspace).mkdir(parents=True)
    guard = PathGuard(tmp_path / workspace, [], tmp_path / "home")
    assert guard.check_path(path) or guard.caution(path)


def test_hidden_files_in_the_users_home_are_asked_about(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    guard = PathGuard(tmp_path, [], tmp_path / "data")
    for path in (
        ".toprc",
        ".config/vifm/vifmrc",
        ".local/share/x/y",
        ".Some-New-Tool/rc",
        "Library/x",
    ):
        assert "home folder" not in (guard.check_path(path) or "")
        assert guard.caution(path), path
    for path in (
        "project/.toprc",
        "project/.config/x",
        ".gitignore",
        ".github/FUNDING.yml",
        "a.txt",
    ):
        assert guard.caution(path) is None, path
    for path in (".", "./.", str(tmp_path / ".")):  # the folder itself
        assert guard.caution(path) is None, path
    inside = PathGuard(tmp_path / ".dotfiles", [], tmp_path / "data")
    assert inside.caution("README.md") is None
    assert inside.caution("../.toprc")


def test_link_to_a_control_file_is_asked_about(guard):
    me = guard.workspace
    (me / ".git/hooks").mkdir(parents=True)
    (me / "notes").symlink_to(".git/hooks")
    (me / "a.txt").symlink_to(".git/config")
    (me / "dangling").symlink_to(".vscode/tasks.json")
    assert all(guard.caution(path) for path in ("notes/pre-commit", "a.txt", "dangling"))


def test_caution_names_the_place_and_what_runs(guard):
    assert guard.caution("a/.husky/pre-push") == (
        "'a/.husky/pre-push' is a control file: '.husky' runs when someone commits, pulls or "
        "pushes."
    )
    assert guard.caution("") is None


CASES = st.sampled_from([str, str.upper, str.title, str.swapcase])
AROUND = st.sampled_from(["", "./", "a/../", "a/b/", "a//"])
SIGNS = st.sampled_from(["", "\u200b", "\u2060", "\ufe0f", "\u00ad"])
ENDS = st.sampled_from(["", "/", "/.", ".", "..", " ", ":s", "::$DATA"])


@given(
    path=st.sampled_from(ATTEMPTS["write"]),
    case=CASES,
    before=AROUND,
    sign=SIGNS,
    at=st.integers(0, 12),
    end=ENDS,
)
def test_control_files_are_asked_about_in_every_spelling(guard, path, case, before, sign, at, end):
    name = case(path)
    named = before + name[:at] + sign + name[at:] + end
    assert guard.check_path(named) or guard.caution(named)


@pytest.mark.parametrize("path", ["GIT~1/config", "VSCODE~1/tasks.json", "sub/GIT~2/hooks/x"])
def test_short_aliases_of_control_files_are_asked_about(guard, path):
    assert guard.caution(path)
