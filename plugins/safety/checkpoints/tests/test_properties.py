"""A rewind restores any state of a folder, and its undo the state before the rewind."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from .conftest import WorkspaceChat, undo_of

NAMES = ["a", "b", "a/c", "a/c/d", "b/e", "f g/h\ni", "\udcff/-x", ".gitattributes"]
MODES = [0o644, 0o755, 0o600, 0o444, 0o640, 0o700, 0o777]
CONTENTS = [b"", b"one\n", b"two\r\n", b"\0\xff", b"$Id$\n", b"x" * 5000]

paths = st.sampled_from(NAMES)
operations = st.one_of(
    st.tuples(st.just("write"), paths, st.sampled_from(CONTENTS)),
    st.tuples(st.just("append"), paths, st.sampled_from(CONTENTS)),
    st.tuples(st.just("delete"), paths),
    st.tuples(st.just("folder"), paths),
    st.tuples(st.just("rename"), paths, paths),
    st.tuples(st.just("chmod"), paths, st.sampled_from(MODES)),
    st.tuples(st.just("link"), paths, st.sampled_from(["a", "..", "nowhere", "/etc/hostname"])),
)
steps = st.lists(operations, max_size=7)


def apply(work: Path, operation: Sequence[Any]) -> None:
    """Do one thing, as far as it can be done, and never outside of the folder."""
    kind, name, *rest = operation
    path = work / name
    if any(above.is_symlink() for above in path.parents if above.is_relative_to(work)):
        return
    with suppress(OSError, shutil.Error):
        if kind == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_symlink():
                path.write_bytes(rest[0])
        elif kind == "append" and path.is_file() and not path.is_symlink():
            path.write_bytes(path.read_bytes() + rest[0])
        elif kind == "delete":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        elif kind == "folder":
            path.mkdir(parents=True)
        elif kind == "rename":
            path.rename(work / rest[0])
        elif kind == "chmod" and not path.is_symlink():
            path.chmod(rest[0] | (0o700 if path.is_dir() else 0o400))
        elif kind == "link":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(rest[0])


def clear(work: Path) -> None:
    """Empty the folder."""
    for path in work.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(stat.S_IRWXU)
    for entry in os.scandir(work):
        shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)  # noqa: PTH108


@pytest.fixture(scope="module")
def module_chat(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One chat for all examples, so that each finds what the one before left in the store."""
    from hookline.testing import Harness

    made: list[Any] = []

    def make(*plugins: Any, **options: Any) -> Any:
        made.append(Harness(*plugins, **options))
        return made[-1]

    folder = tmp_path_factory.mktemp("properties")
    yield WorkspaceChat(make, folder / "home", folder / "work")
    for harness in made:
        harness.close()


@pytest.mark.slow
@settings(max_examples=40)
@given(before=steps, turns=st.lists(steps, min_size=1, max_size=3), chosen=st.integers(0, 2))
@example([("write", "a", b"one\n")], [[("delete", "a"), ("write", "a/c", b"one\n")]], 0)
@example([("write", "a/c/d", b"one\n")], [[("delete", "a"), ("link", "a", "..")]], 0)
@example([("folder", "a/c/d")], [[("delete", "a")], [("write", "a", b"")]], 1)
def test_rewind_and_its_undo_restore_any_folder_exactly(
    module_chat: WorkspaceChat, before: list[Any], turns: list[list[Any]], chosen: int
) -> None:
    chat = module_chat
    clear(chat.work)
    for operation in before:
        apply(chat.work, operation)
    were, hashes = [], []
    for todo in turns:
        were.append(chat.tree)
        outcome = chat.turn("turn", lambda todo=todo: [apply(chat.work, one) for one in todo])
        assert chat.warnings(outcome) == []
        hashes.append(chat.hashes()[0])
    after = chat.tree
    number = chosen % len(turns)
    answer = chat.rewind(hashes[number])
    assert chat.tree == were[number]
    assert "Left as it is" not in answer
    chat.rewind(undo_of(answer))
    assert chat.tree == after
