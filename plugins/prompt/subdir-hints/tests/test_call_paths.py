"""Which paths a call touches, by its arguments."""

from __future__ import annotations

import shlex
import string

import pytest
from hookline_subdir_hints.touched_paths import MAX_PATHS, touched_paths
from hypothesis import given
from hypothesis import strategies as st

NAME = st.text(string.ascii_lowercase + "éü 漢'\"&;|()<>*#\\", min_size=1, max_size=8)
PATH = st.builds(lambda names: "/".join(["d", *names]), st.lists(NAME, min_size=1, max_size=3))


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat src/a.py", ["src/a.py"]),
        ("ls src", ["src"]),
        ("./tool/run.sh now", ["./tool/run.sh", "now"]),
        ("cd sub && cat x/y", ["sub", "sub/x/y"]),
        ("cd sub&&cat x/y", ["sub", "sub/x/y"]),
        ("cd sub; cd in; cat x", ["sub", "sub/in", "sub/in/x"]),
        ("cd sub\ncat x", ["sub", "sub/x"]),
        ("cd sub && \\\n  cat x", ["sub", "sub/x"]),
        ("(cd sub && ls f); cat g", ["sub", "sub/f", "g"]),
        ("if cd sub; then cat x; fi", ["sub", "sub/x"]),
        ("cd -P -- sub && cat x", ["sub", "sub/x"]),
        ("cd /abs && cat x", ["/abs", "/abs/x"]),
        ("cd 'a b' && cat 'c d'", ["a b", "a b/c d"]),
        ("cat <in/a >out/b 2>err/c", ["in/a", "out/b", "2", "err/c"]),
        ("make -C sub --file=mk/a X=v/b", ["sub", "mk/a", "v/b"]),
        ("bash -lc 'cd sub && cat x'", ["sub", "sub/x"]),
        ("cat $(ls deep/a)", ["deep/a"]),
        ('grep "it\'s" src/a', ["it's", "src/a"]),
        ("cat 'src/open quote", ["src/open", "quote"]),
        ("echo sub", []),
        ("sub", []),
        ("cd $DIR && cat x /abs/y", ["/abs/y"]),
        ("cat $HOME/x `a`/b", []),
        ("cd", []),
        ("  \n;;", []),
    ],
)
def test_paths_of_a_command(command: str, paths: list[str]) -> None:
    assert touched_paths({"command": command}) == paths


def test_paths_of_a_command_are_relative_to_its_workdir() -> None:
    found = touched_paths({"command": "cat x && cd b && cat y", "workdir": "a"})
    assert found == ["a", "a/x", "a/b", "a/b/y"]


def test_only_path_arguments_are_paths() -> None:
    arguments = {"path": "a", "file_path": "b", "workdir": "c", "cwd": "d", "content": "e/f"}
    assert touched_paths(arguments) == ["a", "b", "c", "d"]


@given(PATH)
def test_any_quoted_path_is_found(path: str) -> None:
    assert path in touched_paths({"command": f"cat {shlex.quote(path)}"})
    assert f"sub/{path}" in touched_paths({"command": f"cd sub && cat {shlex.quote(path)} | wc"})


@given(st.text())
def test_any_text_can_be_parsed_as_a_command(command: str) -> None:
    assert all(isinstance(path, str) and path for path in touched_paths({"command": command}))


@given(
    st.dictionaries(
        st.sampled_from(["path", "file_path", "workdir", "cwd", "command", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        ),
    )
)
def test_any_json_is_accepted_as_arguments(arguments: dict[str, object]) -> None:
    assert all(isinstance(path, str) for path in touched_paths(arguments))


def test_number_of_paths_in_a_command_is_limited() -> None:
    command = " ".join(f"d/{number}" for number in range(100_000))
    assert len(touched_paths({"command": command})) == MAX_PATHS
