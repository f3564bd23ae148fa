"""Generated plugins pass their own tests, lint and format."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hookline_scaffold.kinds import KINDS
from hookline_scaffold.names import derive_names
from hookline_scaffold.repository import render, write

NAMES = ("weather", "my-weather", "web2-4u", "context", "test-kit", "z-z", "w", "w" * 40, "w" * 63)


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a repository for each kind and name."""
    folder = tmp_path_factory.mktemp("repositories")
    for kind in KINDS.values():
        for name in NAMES:
            repository = folder / kind.name / name
            repository.parent.mkdir(exist_ok=True)
            write(repository, render(derive_names(name), kind, 2026))
            installed(repository)
    return folder


def installed(repository: Path) -> None:
    """Lay beside the package what an installer would, so that its entry point is found."""
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    ((group, table),) = project["entry-points"].items()
    ((name, value),) = table.items()
    info = repository / "src" / f"{project['name'].replace('-', '_')}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n", "utf-8"
    )
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n", "utf-8")


def run(folder: Path, *words: str) -> str:
    """What a module prints that is run as a program in a folder; fails with it."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", [("check", "--no-cache"), ("format", "--check", "--no-cache")])
def test_generated_code_is_lint_and_format_clean(repositories: Path, words: tuple[str]) -> None:
    assert run(repositories, "ruff", *words, ".")


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.slow) if n else kind for n, kind in enumerate(KINDS)],
)
def test_generated_tests_pass(repositories: Path, kind: str) -> None:
    told = run(repositories / kind / ("w" * 63), "pytest", "-p", "no:cacheprovider")
    assert " passed" in told
    assert "skipped" not in told
