"""Completions that Tab offers."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path

import pytest
from hookline_hookspecs import Command
from hookline_terminal.completion import ChatCompleter
from hookline_terminal.workspace_files import WorkspaceFiles
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.document import Document


class Guard:
    """The part of ``host.paths`` that is used: one folder, one secret file."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def resolve(self, path: str, *, base: Path | None = None) -> Path:
        """Refuses what leads out."""
        real = (self.workspace / path).resolve()
        if not real.is_relative_to(self.workspace):
            raise PermissionError(path)
        return real

    def check_path(self, path: str) -> str | None:
        """Refuses the secret."""
        return "secret" if path.endswith("secret.pem") else None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace."""
    here = tmp_path.resolve() / "here"
    (here / "docs" / "deep").mkdir(parents=True)
    (here / "docs" / "my notes.md").touch()
    (here / "docs" / "deep" / "end.py").touch()
    for name in ("alpha.txt", "also.txt", ".hidden", "secret.pem"):
        (here / name).touch()
    (tmp_path / "outside.txt").touch()
    return here


async def complete(session: str, typed: str) -> list[tuple[str, str]]:
    """Offers what begins so."""
    return [(name, f"of {session}") for name in ("one", "other", "two") if name.startswith(typed)]


async def fail(session: str, typed: str) -> list[tuple[str, str]]:
    """Fails."""
    raise LookupError(session)


COMMANDS = [
    Command("/compact", "Shorten the history.", print, aliases=("/compress",)),
    Command("/model", "Show the model.", print, complete=complete),
    Command("/broken", "Fail.", print, complete=fail),
]


def completed(folder: Path, typed: str) -> list[tuple[str, str]]:
    """The whole line after each completion, and what is said about it."""
    completer = ChatCompleter(
        Guard(folder),  # type: ignore[arg-type]
        lambda: COMMANDS,
        lambda: "here",
    )

    async def collect() -> list[Completion]:
        found = completer.get_completions_async(Document(typed), CompleteEvent())
        return [one async for one in found]

    return [
        (typed[: len(typed) + one.start_position] + one.text, one.display_meta_text)
        for one in asyncio.run(collect())
    ]


def offered(folder: Path, typed: str) -> list[str]:
    """The whole line after each completion."""
    return [line for line, _ in completed(folder, typed)]


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        ("/com", ["/compact", "/compress"]),
        ("/COM", ["/compact", "/compress"]),
        ("/press", ["/compress"]),
        ("/k", ["/keys", "/broken"]),
        ("say /com", []),
        ("/model ", ["/model one", "/model other", "/model two"]),
        ("/MODEL o", ["/MODEL one", "/MODEL other"]),
        ("/broken o", []),
        ("/compact o", []),
        ("/compact @al", ["/compact @also.txt", "/compact @alpha.txt"]),
        ("@d", ["@diff", "@docs/"]),
        ("see @fi", ["see @file:"]),
        ("see @file:al", ["see @file:alpha.txt", "see @file:also.txt"]),
        ("see @AL", ["see @alpha.txt", "see @also.txt"]),
        ("(@alp", ["(@alpha.txt"]),
        ("@file:", ["@file:alpha.txt", "@file:also.txt", "@file:docs/"]),
        ("@.h", ["@.hidden"]),
        ("@folder:", ["@folder:docs/"]),
        ("@docs/", ["@docs/deep/", '@"docs/my notes.md"']),
        ("@docs/my", ['@"docs/my notes.md"']),
        ('@"docs/my n', ['@"docs/my notes.md"']),
        ('@file:"docs/my n', ['@file:"docs/my notes.md"']),
        ("@notes", ['@"docs/my notes.md"']),
        ("@dmn", ['@"docs/my notes.md"']),
        ("@deep", ["@docs/deep/", "@docs/deep/end.py"]),
        ("@secret", []),
        ("@../", []),
        ("@nowhere/x", []),
        ("me@al", []),
        ("@alpha.txt ", []),
        ("@alpha.txt and @also", ["@alpha.txt and @also.txt"]),
        ('@"docs/my notes.md" @also', ['@"docs/my notes.md" @also.txt']),
    ],
)
def test_tab_offers_completions(folder: Path, typed: str, lines: list[str]) -> None:
    assert sorted(offered(folder, typed)) == sorted(lines)


def test_completions_have_descriptions(folder: Path) -> None:
    assert ("/compress", "/compact: Shorten the history.") in completed(folder, "/com")
    assert completed(folder, "/model tw") == [("/model two", "of here")]
    assert completed(folder, "@sta")[0] == ("@staged", "what is staged")


def test_best_file_match_comes_first(folder: Path) -> None:
    for name in ("src/model.py", "model/readme.md", "src/my_model.py", "src/m/o/del.txt"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert offered(folder, "@model") == [
        "@model/",
        "@src/model.py",
        "@src/my_model.py",
        "@model/readme.md",
        "@src/m/o/del.txt",
    ]


def test_file_is_offered_before_references_and_caches(folder: Path) -> None:
    git(folder, "init")
    (folder / ".gitignore").write_text("statistics/\n")
    for name in ("stats.py", "check_stats.py", "__pycache__/stats.pyc", "statistics/x.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    found = offered(folder, "@sta")
    assert found[0] == "@stats.py"
    assert set(found) == {"@stats.py", "@statistics/", "@staged", "@check_stats.py"}
    assert found.index("@stats.py") < found.index("@staged") < found.index("@check_stats.py")
    assert offered(folder, "@stats") == ["@stats.py", "@check_stats.py"]


def git(folder: Path, *arguments: str) -> None:
    """Run git there."""
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_ignored_files_are_offered_only_when_typed(folder: Path) -> None:
    git(folder, "init")
    (folder / ".gitignore").write_text("build/\n*.log\n")
    (folder / "build").mkdir()
    (folder / "build" / "bundle.js").touch()
    (folder / "docs" / "noise.log").touch()
    assert offered(folder, "@deep/end") == ["@docs/deep/end.py"]
    assert offered(folder, "@bundle") == offered(folder, "@noise") == []
    assert offered(folder, "@build/") == ["@build/bundle.js"]


def test_completion_runs_no_programs_of_the_repository(folder: Path, tmp_path: Path) -> None:
    git(folder, "init")
    git(folder, "config", "core.fsmonitor", f"touch {tmp_path}/ran #")
    assert offered(folder, "@alp") == ["@alpha.txt"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_search_in_50000_files_is_fast(folder: Path) -> None:
    names = [f"pkg{n % 500}/module_{n}.py" for n in range(50_000)]
    files = WorkspaceFiles(Guard(folder))  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hookline_terminal.workspace_files._git_files", lambda _root: names)
        files.search("xx")
    began = time.process_time()
    assert files.search("module_4711.py")[0] == "pkg211/module_4711.py"
    files.search("mdl49")
    assert time.process_time() - began < 1.0
