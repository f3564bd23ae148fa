"""Settings of a project: only stricter ones and preferences, and only in a trusted folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline.config import Loaded, load
from hookline.config.project import ProjectContent
from hookline.config.trusted_folders import TrustedFolders

ENV = {"OPENAI_API_KEY": "sk-123456789"}


class Project:
    """A home with a config, and a project with settings."""

    def __init__(self, root: Path) -> None:
        self.home, self.folder = root / "home", root / "work"
        self.home.mkdir()
        self.file = self.folder / ".hookline" / "config.yaml"
        self.file.parent.mkdir(parents=True)

    def write(self, text: str, own: str = "") -> None:
        self.file.write_text(text)
        (self.home / "config.yaml").write_text(f"workspace: {self.folder}\n{own}")

    def trust(self) -> None:
        content = ProjectContent(self.home).describe(self.folder)
        assert content is not None
        TrustedFolders(self.home).trust(self.folder, [content])

    def load(self, **flags: object) -> Loaded:
        return load(self.home, ENV, flags, uses_project=True)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_project_counts_only_while_its_content_is_trusted(project: Project) -> None:
    project.write("max_iterations: 5\n")
    untrusted = project.load()
    assert untrusted.config.max_iterations == 90
    assert "is not used, because the folder is not trusted" in untrusted.untrusted
    assert "`hookline trust`" in untrusted.untrusted
    project.trust()
    assert project.load().config.max_iterations == 5
    assert (project.load().untrusted, project.load().warnings) == ("", ())
    project.file.write_text("max_iterations: 6\n")
    changed = project.load()
    assert changed.config.max_iterations == 90
    assert "has changed since it was trusted" in changed.untrusted


@pytest.mark.parametrize(
    ("setting", "own", "words"),
    [
        ("max_iterations: 91", "", "may only lower it, below 90"),
        ("max_iterations: 9", "max_iterations: 8", "may only lower it, below 8"),
        ("max_iterations: true", "", "may only lower it"),
        ("max_iterations: 0", "", "may only lower it"),
        ("model: anthropic/claude", "", "provider is not configured"),
        ("model: [openai/x]", "", "provider is not configured"),
        ("store: postgresql://evil", "", "may not set this"),
        ("workspace: /", "", "may not set this"),
        ("operator_message: obey", "", "may not set this"),
        ("providers: {openai: {base_url: 'http://evil'}}", "", "may not set this"),
        ("network: {block_private: false}", "", "may not set this"),
        ("network: {block_private: 1}", "", "may not set this"),
        ("network: {allow_hosts: [10.0.0.1]}", "", "may not set this"),
        ("network: {block_hosts: ['${OPENAI_API_KEY}']}", "", "variables or secrets"),
        ("paths: {allowed_roots: [/]}", "", "may not set this"),
        ("paths: {edit_own_code: true}", "", "may not set this"),
        ("plugins: {evil: true}", "", "may not set this"),
        ("plugins: {titles: true}", "", "may not set this"),
        ("plugins: {permissions: false}", "", "may not set this"),
        ("plugins: {provenance: false}", "", "may not set this"),
        ("plugins: {redact: {}}", "", "may not set this"),
        ("plugins: {shell: {enabled: false}}", "", "may not set this"),
        ("plugins: {permissions: {allow: ['bash(*)']}}", "", "may not set this"),
        ("plugins: {permissions: {mode: yolo}}", "", "stricter than auto"),
        (
            "plugins: {permissions: {mode: ask}}",
            "plugins: {permissions: {mode: plan}}",
            "stricter than plan",
        ),
        ("plugins: {shell: {sandbox: {enabled: false}}}", "", "may not set this"),
        ("plugins: {shell: {sandbox: {network: guarded}}}", "", "may not set this"),
        ("'plugins.shell.sandbox.enabled': false", "", "may not set this"),
    ],
)
def test_key_that_loosens_is_told_and_ignored(
    project: Project, setting: str, own: str, words: str
) -> None:
    project.write("", own)
    before = project.load()
    project.write(f"# a project\n{setting}\n", own)
    project.trust()
    after = project.load()
    assert (after.config, after.plugins) == (before.config, before.plugins)
    assert len(after.warnings) == 1
    assert after.warnings[0].startswith(f"{project.file}:2: ")
    assert words in after.warnings[0]


def test_stricter_settings_and_preferences_apply(project: Project) -> None:
    project.write(
        "model: openai/gpt-5-mini\nmax_iterations: 7\n"
        "network: {block_private: true, block_hosts: [evil.example]}\n"
        "plugins:\n  titles: false\n  terminal: {theme: dark}\n"
        "  shell: {sandbox: {enabled: true, network: none}}\n"
        "  permissions: {mode: ask, deny: ['bash(curl *)']}\n",
        "network: {block_private: false, block_hosts: [mine.example]}\n"
        "plugins: {permissions: {deny: ['bash(rm *)']}, memory: {notes_max_chars: 300}}\n",
    )
    project.trust()
    loaded = project.load()
    assert loaded.warnings == ()
    assert loaded.config.model == "openai/gpt-5-mini"
    assert loaded.config.network.block_private is True
    assert loaded.config.network.block_hosts == ["mine.example", "evil.example"]
    assert not loaded.plugins["titles"].enabled
    assert loaded.plugins["terminal"].settings == {"theme": "dark"}
    assert loaded.plugins["shell"].settings == {"sandbox": {"enabled": True, "network": "none"}}
    rules = loaded.plugins["permissions"].settings
    assert rules == {"deny": ["bash(rm *)", "bash(curl *)"], "mode": "ask"}
    assert loaded.lines["max_iterations",] == f"{project.file}:2"
    assert project.load(model="openai/gpt-5").config.model == "openai/gpt-5"


def test_settings_do_not_switch_a_plugin_on(project: Project) -> None:
    own = "plugins: {permissions: false, shell: false, terminal: false}\n"
    project.write(
        "plugins: {permissions: {mode: ask}, shell: {sandbox: {enabled: true}},"
        " terminal: {theme: dark}}\n",
        own,
    )
    project.trust()
    plugins = project.load().plugins
    assert [plugins[name].enabled for name in ("permissions", "shell", "terminal")] == [False] * 3


@pytest.mark.parametrize("text", ["a: [", "- a\n", "a: 1\na: 2\n", "x: !tag 1\n"])
def test_unreadable_file_changes_nothing(project: Project, text: str) -> None:
    project.write(text)
    project.trust()
    loaded = project.load()
    assert "The file is ignored." in loaded.warnings[0]


def test_link_and_large_file_are_ignored(project: Project, tmp_path: Path) -> None:
    project.write("# " + "x" * 100_001)
    project.trust()
    assert "is larger than 100,000 bytes" in project.load().warnings[0]
    project.file.unlink()
    (tmp_path / "other.yaml").write_text("max_iterations: 3\n")
    project.file.symlink_to(tmp_path / "other.yaml")
    project.trust()
    assert project.load().config.max_iterations == 90


def test_own_home_is_no_project(tmp_path: Path) -> None:
    home = tmp_path / ".hookline"
    home.mkdir()
    (home / "config.yaml").write_text(f"workspace: {tmp_path}\nmax_iterations: 99\n")
    loaded = load(home, {}, uses_project=True)
    assert (loaded.config.max_iterations, loaded.warnings) == (99, ())
