"""What Tab offers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline_terminal.completion import ChatCompleter
from prompt_toolkit.completion import CompleteEvent
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

    def judge(self, path: str) -> str | None:
        """Refuses the secret."""
        return "secret" if path.endswith("secret.pem") else None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace."""
    here = tmp_path.resolve() / "here"
    (here / "docs" / "deep").mkdir(parents=True)
    (here / "docs" / "my notes.md").touch()
    for name in ("alpha.txt", "also.txt", ".hidden", "secret.pem"):
        (here / name).touch()
    (tmp_path / "outside.txt").touch()
    return here


def offered(folder: Path, typed: str) -> list[str]:
    """The whole line after each completion."""
    completer = ChatCompleter(Guard(folder))  # type: ignore[arg-type]
    found = completer.get_completions(Document(typed), CompleteEvent())
    return [typed[: len(typed) + c.start_position] + c.text for c in found]


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        ("/com", ["/compact", "/compress"]),
        ("/COM", ["/compact", "/compress"]),
        ("say /com", []),
        ("see @f", ["see @file:", "see @folder:"]),
        ("see @file:al", ["see @file:alpha.txt", "see @file:also.txt"]),
        ("(@file:alp", ["(@file:alpha.txt"]),
        ("@file:", ["@file:alpha.txt", "@file:also.txt", "@file:docs/"]),
        ("@file:.h", ["@file:.hidden"]),
        ("@folder:", ["@folder:docs/"]),
        ("@folder:docs/", ["@folder:docs/deep/"]),
        ("@file:docs/my", ['@file:"docs/my notes.md']),
        ('@file:"docs/my n', ['@file:"docs/my notes.md']),
        ("@file:../", []),
        ("@file:nowhere/x", []),
        ("me@file:al", []),
    ],
)
def test_completions(folder: Path, typed: str, lines: list[str]) -> None:
    assert offered(folder, typed) == lines
