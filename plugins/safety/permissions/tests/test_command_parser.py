"""Commands are read as the shell reads them, and nothing that is written in one raises."""

from __future__ import annotations

import time

import pytest
from hookline_permissions.commands import UNKNOWN, ParsedCommand, parse_command
from hookline_permissions.commands.wrappers import unwrap
from hypothesis import given, settings
from hypothesis import strategies as st


def read(script: str) -> ParsedCommand:
    return unwrap(parse_command(script))


def calls(script: str) -> list[str]:
    """The simple commands as text, ``…`` for what only the shell knows."""
    return [command.text for command in read(script).commands if command.words]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("git log -3 | head", ["git log -3", "head"]),
        ("a && b || c; d & e\nf", ["a", "b", "c", "d", "e", "f"]),
        ("\"r\"'m' -r\\f $HOME/x", ["rm -rf ~/x"]),
        ("echo $'\\x72\\x6d' {a,b}c", ["echo rm ac bc"]),
        ('echo "a $(id -u) `pwd`"', ["id -u", "pwd", "echo a … …"]),
        ("ls x\\\n#; rm y", ["ls x#", "rm y"]),
        ("ls # x; rm y\npwd", ["ls", "pwd"]),
        ("cat <<'E' | sh\nrm -rf /\nE\npwd", ["cat", "sh", "rm -rf /", "pwd"]),
        (
            "git commit -m \"$(cat <<'E'\nit's done (1)\nE\n)\"",
            ["cat", "git commit -m it's done (1)"],
        ),
        ("for f in *.py; do wc $f; done", ["wc …"]),
        ("if [ -f x ]; then cat x; fi; while read l; do echo; done", ["cat x", "read l", "echo"]),
        ("case $x in a) rm b;; *) c;; esac", ["rm b", "c"]),
        ("(cd x; ls) | { wc; }", ["cd x", "ls", "wc"]),
        ("diff <(a) <(b)", ["a", "b", "diff … …"]),
        ("((i++)); [[ -n $(id) ]] && x", [": …", "id", "x"]),
        (
            "sudo -u me env A=1 timeout 5 rm x",
            [
                "sudo -u me env A=1 timeout 5 rm x",
                "env A=1 timeout 5 rm x",
                "timeout 5 rm x",
                "rm x",
            ],
        ),
        ("find . -name x -exec rm {} \\;", ["find . -name x -exec rm {} ;", "rm ./…"]),
        ("ls | xargs -n1 rm -f", ["ls", "xargs -n1 rm -f", "rm -f …"]),
        ("bash -c 'a; b'", ["bash -c a; b", "a", "b"]),
        ("ssh -p 22 host 'rm -rf x; y'", ["ssh -p 22 host rm -rf x; y", "rm -rf x", "y"]),
        ("echo 'rm x' | bash", ["echo rm x", "bash", "rm x"]),
        ('eval "rm $x"', ["eval rm …", "rm …"]),
        ("export A=1 B=2", ["export A=1 B=2"]),
    ],
)
def test_parts_of_a_command_are_found(script: str, expected: list[str]) -> None:
    assert calls(script) == expected


def test_redirects_variables_and_functions_are_kept() -> None:
    parsed = read("A=1 B=$(id) make >out.txt 2>&1 <in; f() { f | f & }; f; >$X")
    make = next(one for one in parsed.commands if one.program == "make")
    assert make.assignments == ("A", "B")
    assert [(one.target.text, one.writes) for one in make.redirects] == [
        ("out.txt", True),
        ("in", False),
    ]
    assert parsed.functions["f"] > 1
    assert parsed.commands[-1].redirects[0].target.text == UNKNOWN


@pytest.mark.parametrize(
    "script",
    [
        "echo 'open",
        'echo "open',
        "echo $(open",
        "echo `open",
        "a <<E b <<F",
        "a \ue0f20\ue0f3 b",
        "a \0 b",
        "if true; then",
        "a; }) b",
        "x" * 200_000,
        "{a,b}" * 20,
        "$(" * 5_000,
    ],
)
def test_what_cannot_be_read_is_said(script: str) -> None:
    assert read(script).unread


@pytest.mark.long
@pytest.mark.parametrize(
    "piece", ["(", "$(", "`", "{a,", "a|", "a;", "[[", "'", "<<E ", "sudo ", "eval '", "x=$((", "é"]
)
def test_hostile_commands_take_no_time_that_grows(piece: str) -> None:
    started = time.process_time()
    read(piece * (100_000 // len(piece)))
    read(piece * (5_000 // len(piece)))
    assert time.process_time() - started < 10


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *"'\"`$(){}[]<>|&;\\\n #~*?!=é\udce9\t",
                "rm",
                "-rf",
                " / ",
                "$(",
                "<<E\n",
                "${x",
                "sudo ",
            ]
        ),
        max_size=40,
    )
)
def test_no_text_raises(parts: list[str]) -> None:
    read("".join(parts))
