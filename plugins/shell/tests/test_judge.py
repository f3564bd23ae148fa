"""The judge: ordinary commands pass, named acts are stopped, arbitrary text is survived."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hookline_hookspecs import Ask, Deny
from hypothesis import given, settings
from hypothesis import strategies as st

DATA = Path(__file__).parent / "data"
ORDINARY = [line for line in (DATA / "ordinary.txt").read_text("utf-8").splitlines() if line]
ORDINARY += yaml.safe_load((DATA / "ordinary.more.yaml").read_text("utf-8"))
HOSTILE = yaml.safe_load((DATA / "hostile.yaml").read_text("utf-8"))

Judge = Callable[..., Deny | Ask | None]


def test_the_corpus_is_large() -> None:
    assert len(set(ORDINARY)) >= 300


@pytest.mark.parametrize("command", ORDINARY)
def test_ordinary_commands_pass(verdict: Judge, command: str) -> None:
    assert verdict(command) is None


@pytest.mark.parametrize("command", HOSTILE["deny"])
def test_what_cannot_be_undone_is_denied(verdict: Judge, command: str) -> None:
    found = verdict(command)
    assert isinstance(found, Deny)
    assert found.reason.endswith(".")


@pytest.mark.parametrize("command", HOSTILE["ask"])
def test_what_a_person_should_see_is_asked(verdict: Judge, command: str) -> None:
    found = verdict(command)
    assert isinstance(found, Ask)
    assert found.preview == command


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


def test_endless_work_is_asked(verdict: Judge) -> None:
    nested = "echo x"
    for _ in range(40):
        nested = f"$({nested})"
    assert isinstance(verdict(f"echo {nested}"), Ask | Deny)
    assert isinstance(verdict("echo " + "{a,b}" * 30), Ask)


FRAGMENTS = [
    *("rm", "-rf", "/", "~", "$x", "${x", "$(", ")", "`", "'", '"', "\\", "|", "&", ";", "<<EOF"),
    *("\nEOF\n", "{a,b}", "{1..9}", "${x:-y}", "$((1+1))", "if", "then", "fi", "for i in", "do"),
    *("done", "case", "esac", "()", "{", "}", "[[", "]]", "<(", ">", ">>", "<<<", "&>", "bash -c"),
    *("eval", "python -c", "xargs", "find . -exec", "sed 's/a/b/'", "$'\\x41'", "#", "!", "\n"),
    *("x=1", "x=(a b)", "${x[@]}", "${!x}", "${x/a/b}", "${x:1:2}", "\ue000", "é", "🦊", "\0"),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(" ".join))
def test_any_fragments_get_a_verdict(verdict: Judge, command: str) -> None:
    assert verdict(command) is None or isinstance(verdict(command), Deny | Ask)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(verdict: Judge, command: str) -> None:
    assert verdict(command) is None or isinstance(verdict(command), Deny | Ask)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join))
def test_an_act_is_seen_before_anything_unreadable(verdict: Judge, rest: str) -> None:
    assert verdict(f"rm -rf / \n{rest}") is not None


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(blacklist_characters="'\0\r"), max_size=60))
def test_quoted_text_is_only_text(verdict: Judge, text: str) -> None:
    assert verdict(f"echo '{text}'") is None
