"""``hookline plugins new``: names, folders, and what is left after a fault."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from hookline.testing import PluginContract
from hookline_scaffold import Scaffold
from hookline_scaffold.command import new as new_plugin
from typer.testing import CliRunner

New = Callable[..., Any]
LONGEST = "w" * 63
REPOSITORY = {
    *("pyproject.toml", "README.md", "LICENSE", ".gitignore", ".github/workflows/ci.yml"),
    *("tests/test_plugin.py", "src/hookline_weather/__init__.py", "src/hookline_weather/py.typed"),
}


class TestContract(PluginContract):
    """The contract of every plugin."""

    plugin = Scaffold


def below(folder: Path) -> set[str]:
    """The files below a folder."""
    return {f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file()}


@pytest.fixture
def cwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def new(cwd: Path) -> New:
    """The command, run in the current folder."""
    app = typer.Typer()
    app.command()(new_plugin)
    return lambda *words: CliRunner().invoke(app, [*words])


def test_new_creates_repository_and_prints_next_steps(new: New, cwd: Path) -> None:
    done = new("weather")
    assert done.exit_code == 0, done.output
    assert below(cwd) == {f"hookline-weather/{path}" for path in REPOSITORY}
    lines = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert lines[0] == "cd hookline-weather"
    assert " pip install " in lines[1]
    assert lines[2].endswith(" -m pytest")
    assert lines[3] == "hookline plugins enable weather"
    left = [f for f in cwd.rglob("*") if f.is_file() and "%%" in f.read_text("utf-8")]
    assert not left


@pytest.mark.parametrize(
    ("kind", "group", "start"),
    [
        ("plugin", "hookline.plugins", "hookline plugins enable weather"),
        ("tool", "hookline.plugins", "hookline plugins enable weather"),
        ("guard", "hookline.plugins", "hookline plugins enable weather"),
        ("channel", "hookline.plugins", "hookline plugins enable weather"),
        ("provider", "hookline.providers", "hookline config set model weather/MODEL"),
        ("store", "hookline.stores", "hookline config set store weather"),
    ],
)
def test_every_kind_is_created_with_its_usage(
    new: New, cwd: Path, kind: str, group: str, start: str
) -> None:
    done = new("weather", "--kind", kind)
    assert done.exit_code == 0, done.output
    assert below(cwd) == {f"hookline-weather/{path}" for path in REPOSITORY}
    repository = cwd / "hookline-weather"
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"] == {group: {"weather": "hookline_weather:Weather"}}
    assert done.stdout.splitlines()[-1].strip() == start
    readme = (repository / "README.md").read_text("utf-8")
    assert start in readme
    assert readme.count("\n# ") == 0
    assert "%%{" not in readme
    assert not [line for line in readme.splitlines() if len(line) > 110]


def test_unknown_kind_is_refused(new: New, cwd: Path) -> None:
    done = new("weather", "--kind", "spell")
    assert done.exit_code == 2
    assert "guard" in done.stderr
    assert list(cwd.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("written", "name", "module", "class_name"),
    [
        ("weather", "weather", "hookline_weather", "Weather"),
        ("hookline-weather", "weather", "hookline_weather", "Weather"),
        ("my-weather", "my-weather", "hookline_my_weather", "MyWeather"),
        ("web2-4u", "web2-4u", "hookline_web2_4u", "Web24u"),
        ("context", "context", "hookline_context", "HooklineContext"),
        ("none", "none", "hookline_none", "HooklineNone"),
        ("test-kit", "test-kit", "hookline_test_kit", "HooklineTestKit"),
        (LONGEST, LONGEST, f"hookline_{LONGEST}", LONGEST.capitalize()),
    ],
)
def test_names_are_derived_from_plugin_name(
    new: New, cwd: Path, written: str, name: str, module: str, class_name: str
) -> None:
    done = new(written)
    assert done.exit_code == 0, done.output
    repository = cwd / f"hookline-{name}"
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == f"hookline-{name}"
    assert project["entry-points"] == {"hookline.plugins": {name: f"{module}:{class_name}"}}
    source = (repository / "src" / module / "__init__.py").read_text("utf-8")
    assert f"class {class_name}(Plugin[Config]):" in source


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "empty"),
        ("hookline-", "empty"),
        ("Weather", "did you mean weather?"),
        ("my_weather", "did you mean my-weather?"),
        ("1st", "a letter first"),
        ("my--weather", "single dashes"),
        ("weather-", "did you mean weather?"),
        ("../weather", "did you mean weather?"),
        ("a/b", "a-b"),
        ("a\\b", "a-b"),
        ("weather\n", "did you mean weather?"),
        ("weather.py", "did you mean weather-py?"),
        ("w\u0435ather", "CYRILLIC SMALL LETTER IE"),
        ("ｗeather", "FULLWIDTH LATIN SMALL LETTER W"),
        ("weather\u0663", "ARABIC-INDIC DIGIT THREE"),
        ("weather\u200b", "ZERO WIDTH SPACE"),
        (LONGEST + "w", "64 characters"),
        ("x" * 5000, "5000 characters"),
        ("class", "a Python keyword"),
        ("async", "a Python keyword"),
        ("on", "YAML"),
        ("null", "YAML"),
        ("hookline", "Hookline's own name"),
        ("hookline-hookline-weather", "Hookline's own name"),
        ("json", "standard library"),
        ("email", "standard library"),
        ("pytest", "a module 'pytest' is already installed"),
        ("hookspecs", "a module 'hookline_hookspecs' is already installed"),
        ("scaffold", "hookline-configure already has a plugin 'scaffold'"),
        ("sqlite", "already"),
    ],
)
def test_invalid_name_is_refused_with_an_error_sentence(
    new: New, cwd: Path, name: str, told: str
) -> None:
    done = new("--", name)
    assert done.exit_code == 2
    assert done.stderr.startswith("hookline: ")
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert len(done.stderr) < 400
    assert list(cwd.parent.rglob("*weather*")) == []
    assert list(cwd.iterdir()) == []


def test_name_of_uninstalled_hookline_plugin_is_taken(
    new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = ["typer>=0.29", 'hookline-gardening>=0.1; extra == "standard"']
    monkeypatch.setattr("hookline_scaffold.names.requires", lambda dist: requirements)
    done = new("gardening")
    assert done.exit_code == 2
    assert "'gardening' is one of Hookline's own plugins" in done.stderr


def test_installed_module_name_is_taken_and_local_folder_is_not(
    new: New, cwd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "acme_weather.py").write_text("raise SystemExit('imported')", "utf-8")
    (cwd / "weather").mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.syspath_prepend(str(cwd))
    assert new("acme-weather").exit_code == 2
    assert new("weather").exit_code == 0


@pytest.mark.parametrize("directory", ["plugin", "deep/down/plugin", "with space"])
def test_directory_option_chooses_the_folder(new: New, cwd: Path, directory: str) -> None:
    done = new("weather", "--directory", directory)
    assert done.exit_code == 0, done.output
    assert below(cwd / directory) == REPOSITORY
    quoted = f"'{directory}'" if " " in directory else directory
    assert f"  cd {quoted}\n" in done.stdout


def test_empty_current_folder_can_be_used(new: New, cwd: Path) -> None:
    done = new("weather", "--directory", ".")
    assert done.exit_code == 0, done.output
    assert below(cwd) == REPOSITORY
    assert "  cd " not in done.stdout


@pytest.mark.parametrize("directory", ["", " ", "~nobody-of-this-name/weather"])
def test_invalid_directory_gives_an_error_sentence(new: New, cwd: Path, directory: str) -> None:
    done = new("weather", "--directory", directory)
    assert done.exit_code == 2
    assert "--directory" in done.stderr
    assert list(cwd.iterdir()) == []


@pytest.mark.parametrize("kept", ["notes.txt", ".git", "README.md"])
def test_non_empty_folder_is_left_alone(new: New, cwd: Path, kept: str) -> None:
    file = cwd / "hookline-weather" / kept
    file.parent.mkdir()
    file.write_text("mine", "utf-8")
    done = new("weather")
    assert done.exit_code == 2
    assert "hookline-weather is not empty" in done.stderr
    assert below(cwd) == {f"hookline-weather/{kept}"}
    assert file.read_text("utf-8") == "mine"


def test_second_run_changes_nothing(new: New, cwd: Path) -> None:
    new("weather")
    mine = cwd / "hookline-weather" / "README.md"
    mine.write_text("mine", "utf-8")
    assert new("weather").exit_code == 2
    assert mine.read_text("utf-8") == "mine"


def test_existing_file_or_dead_link_is_left_alone(new: New, cwd: Path) -> None:
    (cwd / "hookline-weather").write_text("mine", "utf-8")
    (cwd / "link").symlink_to(cwd / "nowhere")
    for words in (["weather"], ["weather", "--directory", "link"]):
        done = new(*words)
        assert done.exit_code == 2
        assert "is not a folder" in done.stderr
    assert below(cwd) == {"hookline-weather"}
    assert not (cwd / "nowhere").exists()


def test_parent_that_is_a_file_gives_an_error_sentence(new: New, cwd: Path) -> None:
    (cwd / "file").write_text("mine", "utf-8")
    done = new("weather", "--directory", "file/plugin")
    assert done.exit_code == 1
    assert done.stderr.startswith("hookline: file")
    assert below(cwd) == {"file"}


def run(cwd: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A Python program in a process of its own, with a home where the plugin is on."""
    home = cwd.parent / "home"
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("plugins: {scaffold: true}\n", "utf-8")
    environment = {"HOOKLINE_HOME": str(home), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True
    )


@pytest.mark.slow
def test_plugins_new_works_from_command_line(cwd: Path) -> None:
    command = ("-m", "hookline", "plugins", "new", "weather")
    done = run(cwd, *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert below(cwd / "hookline-weather") == REPOSITORY
    again = run(cwd, *command)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("hookline: the folder hookline-weather is not empty")


LIMITED = """
import resource, sys, typer
from hookline_scaffold.command import new as new_plugin
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
typer.run(new_plugin)
"""
"""The command where a file may grow to so many bytes, which fails as a full disk does."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
@pytest.mark.parametrize("most_bytes", [20, 1300])
@pytest.mark.parametrize("directory", ["new", "deep/new", "empty"])
def test_fault_half_way_leaves_no_files(cwd: Path, most_bytes: int, directory: str) -> None:
    (cwd / "empty").mkdir()
    before = set(cwd.rglob("*"))
    words = ("-c", LIMITED, str(most_bytes), "weather", "--directory", directory)
    done = run(cwd, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"hookline: {directory} could not be created: File too large. Nothing was left behind\n"
    )
    assert set(cwd.rglob("*")) == before
