"""The judge: ordinary commands pass, named acts are stopped, arbitrary text is survived."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hookline_hookspecs import Ask, Deny
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("persons_home")

DATA = Path(__file__).parent / "data"
ORDINARY: list[str] = [
    *filter(None, (DATA / "ordinary.txt").read_text("utf-8").splitlines()),
    *yaml.load((DATA / "ordinary.more.yaml").read_text("utf-8"), yaml.CSafeLoader),
]
HOSTILE = yaml.load((DATA / "hostile.yaml").read_text("utf-8"), yaml.CSafeLoader)
RED_TEAM = yaml.load((DATA / "redteam.yaml").read_text("utf-8"), yaml.CSafeLoader)
DENIED: list[str] = [*HOSTILE["deny"], *RED_TEAM["deny"]]
STOPPED: list[str] = [*HOSTILE["ask"], *RED_TEAM["stop"]]

Judge = Callable[..., Deny | Ask | None]


def test_the_corpora_are_large() -> None:
    assert len(set(ORDINARY)) >= 1_500
    assert len({*DENIED, *STOPPED}) >= 2_500
    assert not set(ORDINARY) & {*DENIED, *STOPPED}


@pytest.mark.slow
def test_ordinary_commands_pass(verdict: Judge) -> None:
    assert [command for command in ORDINARY if verdict(command) is not None] == []


@pytest.mark.slow
def test_what_cannot_be_undone_is_denied(verdict: Judge) -> None:
    assert [command for command in DENIED if not isinstance(verdict(command), Deny)] == []


@pytest.mark.slow
def test_what_a_person_should_see_is_stopped(verdict: Judge) -> None:
    assert [command for command in STOPPED if verdict(command) is None] == []


@pytest.mark.parametrize("command", HOSTILE["ask"][::10])
def test_an_ask_shows_the_literal_command(verdict: Judge, command: str) -> None:
    found = verdict(command)
    assert isinstance(found, Ask)
    assert found.preview == command
    assert found.reason.endswith(".")


def test_the_preview_is_the_whole_command_however_long(verdict: Judge) -> None:
    command = "sudo echo " + "x" * 50_000
    found = verdict(command)
    assert isinstance(found, Ask)
    assert found.preview == command
    assert len(found.reason) < 1_000


def test_a_command_too_long_to_read_is_asked(verdict: Judge) -> None:
    assert isinstance(verdict("echo " + "x" * 200_000), Ask)


def test_the_reason_names_the_dangerous_part(verdict: Judge) -> None:
    found = verdict("make && sudo make install && ls")
    assert isinstance(found, Ask)
    assert "`sudo make install`" in found.reason


def test_denied_wins_over_asked(verdict: Judge) -> None:
    assert isinstance(verdict("sudo ls; rm -rf /"), Deny)


def test_workdir_is_where_relative_paths_start(verdict: Judge) -> None:
    assert verdict("cat ../README.md", "src") is None
    assert isinstance(verdict("cat ../README.md"), Ask)
    assert isinstance(verdict("rm -rf *", "/"), Deny)


def test_harmless_places_are_not_outside(verdict: Judge) -> None:
    for place in ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/3", "/tmp/x", "/tmp"):
        assert verdict(f"ls > {place}") is None or place == "/tmp"
        assert verdict(f"cat {place}") is None


def test_a_programs_own_path_is_not_outside(verdict: Judge) -> None:
    assert verdict("/usr/bin/python3 -V") is None
    assert verdict("/opt/tools/bin/thing --help") is None


@pytest.mark.parametrize(
    "command",
    [
        "curl https://files.blocked.example/x",
        "git clone http://10.1.2.3/x.git",
        "wget -q http://[fd00::1]/x",
        "python -c \"import requests; requests.get('http://10.0.0.1/')\"",
    ],
)
def test_an_address_that_guarded_fetching_refuses_is_asked(verdict: Judge, command: str) -> None:
    found = verdict(command)
    assert isinstance(found, Ask)
    assert "refused" in found.reason


def test_look_alikes_are_judged_as_they_look(verdict: Judge) -> None:
    found = verdict("\N{CYRILLIC SMALL LETTER DZE}udo id")
    assert isinstance(found, Ask)
    assert "look like others" in found.reason
    assert isinstance(verdict("rm\N{NO-BREAK SPACE}-rf\N{NO-BREAK SPACE}/"), Ask)
    assert isinstance(verdict("su\N{ZERO WIDTH SPACE}do id"), Ask)


def test_a_program_that_no_table_knows_is_asked_about(verdict: Judge) -> None:
    for command in (
        "frobnicate --run 'rm -rf /'",
        "frobnicate -- rm -rf /",
        "frobnicate 'launch(\"rm -rf /\")'",
        "frobnicate <<< '!sudo id'",
        "RUN='rm -rf /' frobnicate",
        "frobnicate sh -c 'kill -9 -1'",
    ):
        assert isinstance(verdict(command), Ask), command
    assert verdict("frobnicate --note 'all is well'") is None


def test_endless_work_is_asked(verdict: Judge) -> None:
    nested = "echo x"
    for _ in range(60):
        nested = f"$({nested})"
    assert isinstance(verdict(f"echo {nested}"), Ask | Deny)
    assert isinstance(verdict("echo " + "{a,b}" * 30), Ask)


def test_a_long_here_document_is_no_long_command(verdict: Judge) -> None:
    lines = "".join(f"line {number}: don't `run` this; it's text\n" for number in range(1_000))
    assert verdict(f"cat > notes.md <<'END'\n{lines}END\n") is None
    assert isinstance(verdict(f"cat > x <<'END'\n{lines}END\nrm -rf /\n"), Deny)
    assert isinstance(verdict("ls " + "a " * 6_000), Ask)


FRAGMENTS = [
    *("rm", "-rf", "/", "~", "$x", "${x", "$(", ")", "`", "'", '"', "\\", "|", "&", ";", "<<EOF"),
    *("\nEOF\n", "{a,b}", "{1..9}", "${x:-y}", "$((1+1))", "if", "then", "fi", "for i in", "do"),
    *("done", "case", "esac", "()", "{", "}", "[[", "]]", "<(", ">", ">>", "<<<", "&>", "bash -c"),
    *("eval", "python -c", "xargs", "find . -exec", "sed 's/a/b/'", "$'\\x41'", "#", "!", "\n"),
    *("x=1", "x=(a b)", "${x[@]}", "${!x}", "${x/a/b}", "${x:1:2}", "\ue000", "é", "🦊", "\0"),
    *(
        "git -c",
        "make -f -",
        "awk",
        "vim -c",
        "docker run",
        "ssh host",
        "3<",
        "<&3",
        "exec",
        "\r\n",
    ),
    *("declare -n a=b", "coproc", "printf -v", "${x@P}", "parallel", "cut -f1", "yes", "env -S"),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join))
def test_any_fragments_get_a_verdict(verdict: Judge, command: str) -> None:
    verdict(command)  # the fixture fails where the judge itself does


@given(st.one_of(st.text(max_size=200), st.binary(max_size=200).map(lambda b: b.decode("latin-1"))))
def test_any_text_gets_a_verdict(verdict: Judge, command: str) -> None:
    verdict(command)


@given(
    command=st.sampled_from([*DENIED, *STOPPED, *ORDINARY]),
    at=st.integers(0, 400),
    cut=st.integers(0, 5),
    put=st.sampled_from(FRAGMENTS),
)
def test_a_damaged_command_gets_a_verdict(
    verdict: Judge, command: str, at: int, cut: int, put: str
) -> None:
    verdict(command[:at] + put + command[at + cut :])


SINGLE = [command for command in DENIED if "\n" not in command and "<<" not in command]
HARMLESS = [
    "true",
    "ls -la",
    "cd src",
    "x=1",
    "echo 'a b'",
    "make 2>&1",
    "f() { ls; }",
    "export A=b",
]
JOINS = ["; ", " && ", " || ", "\n", " & ", "\n\n", ";\t"]


@given(
    command=st.sampled_from(SINGLE),
    before=st.lists(st.sampled_from(HARMLESS), max_size=3),
    join=st.sampled_from(JOINS),
    after=st.sampled_from(["", " # done", "\nls", " >/dev/null", "  ", "\t", "\r\n", " 2>&1"]),
)
def test_harmless_company_hides_nothing(
    verdict: Judge, command: str, before: list[str], join: str, after: str
) -> None:
    if "#" in command or command.endswith(("&", ";", "\\")):
        after = ""
    assert verdict("".join(part + join for part in before) + command + after) is not None


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join))
def test_an_act_is_seen_before_anything_unreadable(verdict: Judge, rest: str) -> None:
    assert verdict(f"rm -rf / \n{rest}") is not None


@given(st.text(alphabet=st.characters(blacklist_characters="'\0\r"), max_size=60))
def test_quoted_text_is_only_text(verdict: Judge, text: str) -> None:
    assert verdict(f"echo '{text}'") is None
