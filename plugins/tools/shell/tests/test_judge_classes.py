"""The judge by class of harm: what the documentation promises, its disguises, and what it lets be.

The classes stand in ``data/*.classes.yaml``; ``benchmarks/security_judge.py`` prints their counts.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline_hookspecs import Ask, Deny
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

pytestmark = pytest.mark.usefixtures("persons_home")

DATA = Path(__file__).parent / "data"
HOSTILE: dict[str, list[str]] = yaml.load(
    (DATA / "hostile.classes.yaml").read_text("utf-8"), yaml.CSafeLoader
)
EVERYDAY: dict[str, list[str]] = yaml.load(
    (DATA / "everyday.classes.yaml").read_text("utf-8"), yaml.CSafeLoader
)
VARIANTS: list[str] = yaml.load(
    (DATA / "hostile.variants.yaml").read_text("utf-8"), yaml.CSafeLoader
)
MORE: list[str] = yaml.load((DATA / "everyday.variants.yaml").read_text("utf-8"), yaml.CSafeLoader)
EVERY = [command for commands in HOSTILE.values() for command in commands]

Verdict = Callable[..., Deny | Ask | None]


def test_the_corpora_are_large() -> None:
    assert len(set(EVERY)) >= 260
    assert len({command for commands in EVERYDAY.values() for command in commands}) >= 200


@sampled("name", HOSTILE)
def test_what_is_promised_to_be_stopped_is_stopped(verdict: Verdict, name: str) -> None:
    assert [command for command in HOSTILE[name] if verdict(command) is None] == []


@pytest.mark.parametrize("name", EVERYDAY)
def test_everyday_commands_pass(verdict: Verdict, name: str) -> None:
    assert [command for command in EVERYDAY[name] if verdict(command) is not None] == []


@pytest.mark.slow
def test_variants_are_stopped(verdict: Verdict) -> None:
    assert [command for command in VARIANTS if verdict(command) is None] == []


@pytest.mark.slow
def test_more_everyday_commands_pass(verdict: Verdict) -> None:
    assert [command for command in MORE if verdict(command) is not None] == []


def test_no_grant_covers_a_call_of_the_program_itself(verdict: Verdict) -> None:
    def granted(command: str) -> bool:
        found = verdict(command)
        return not (isinstance(found, Deny) or (isinstance(found, Ask) and found.once))

    assert [command for command in HOSTILE["hookline"] if granted(command)] == []


def test_other_questions_may_be_answered_for_good(verdict: Verdict) -> None:
    found = verdict("sudo id")
    assert isinstance(found, Ask)
    assert not found.once


def _assigned(command: str) -> str:
    return f'CMD={shlex.quote(command)}; eval "$CMD"'


def _encoded(command: str) -> str:
    return f"echo {base64.b64encode(command.encode()).decode()} | base64 -d | bash"


def _in_a_function(command: str) -> str:
    return f"all_of_it() {{\n{command}\n}}\nall_of_it"


def _written(command: str) -> str:
    return f"cat > go.sh <<'ENDOFIT'\n{command}\nENDOFIT\nbash go.sh"


DISGUISES: list[Callable[[str], str]] = [
    lambda command: f"env sh -c {shlex.quote(command)}",
    lambda command: f"timeout 60 bash -c {shlex.quote(command)}",
    lambda command: f"nohup bash -c {shlex.quote(command)} &",
    lambda command: f"bash <<< {shlex.quote(command)}",
    lambda command: f"if true; then\n{command}\nfi",
    lambda command: f"for i in 1; do\n{command}\ndone",
    lambda command: f"cd src; cd -; true &&\n{command}",
    lambda command: f"(\n{command}\n)",
    lambda command: f"echo {shlex.quote(command)} | xargs -0 bash -c",
    lambda command: f"trap {shlex.quote(command)} EXIT",
    *(_assigned, _encoded, _in_a_function, _written),
]
"""Ways to write any script that do the same."""


@given(command=st.sampled_from(EVERY), ways=st.lists(st.sampled_from(DISGUISES), max_size=3))
def test_a_disguise_hides_nothing(
    verdict: Verdict, command: str, ways: list[Callable[[str], str]]
) -> None:
    for way in ways:
        command = way(command)
    assert verdict(command) is not None


PLAIN = [
    c for c in EVERY if len(c) < 200 and all(ch not in c for ch in "'\"\\$`<>|;&(){}*?[#~\n=!")
]
"""Commands of plain words, whose words can be written in other ways."""


def _hyphenated(word: str, way: int) -> str:
    half = max(len(word) // 2, 1)
    return (
        word,
        f"'{word}'",
        f'"{word[:half]}"{word[half:]}',
        f"{word[:half]}''{word[half:]}",
        f"$'{word}'",
        f"\\{word}",
        "$'" + "".join(f"\\x{ord(c):02x}" for c in word) + "'",
        f"$(printf %s {word})",
        f"{{{word},}}" if word.isalnum() else word,
    )[way % 9]


@given(data=st.data(), command=st.sampled_from(PLAIN))
def test_other_spellings_of_the_words_hide_nothing(
    verdict: Verdict, data: Any, command: str
) -> None:
    words = command.split()
    ways = data.draw(st.lists(st.integers(0, 7), min_size=len(words), max_size=len(words)))
    gap = data.draw(st.sampled_from([" ", "  ", "\t", " \\\n "]))
    spelled = gap.join(map(_hyphenated, words, ways))
    assert verdict(spelled) is not None
    variables = "; ".join(f"v{i}={shlex.quote(word)}" for i, word in enumerate(words))
    assert verdict(f"{variables}; " + " ".join(f'"$v{i}"' for i in range(len(words)))) is not None
    assert verdict(f'a=({" ".join(map(shlex.quote, words))}); "${{a[@]}}"') is not None


COMPANY = ["true", "ls -la", "x=1", "echo done", "git status -sb", "cat README.md"]


@given(
    everyday=st.sampled_from([c for group in EVERYDAY.values() for c in group if "\n" not in c]),
    before=st.sampled_from(COMPANY),
)
def test_everyday_commands_pass_in_company(verdict: Verdict, everyday: str, before: str) -> None:
    assert verdict(f"{before}; {everyday}") is None
    assert verdict(f"sh -c {shlex.quote(everyday)}") is None


def kinds(effects: Sequence[Any], kind: str) -> list[str]:
    return [effect.target for effect in effects if effect.kind == kind]


@pytest.mark.parametrize(
    ("command", "kind", "target"),
    [
        ("cat src/a.py", "read", "/work/project/src/a.py"),
        ("echo x > out.txt", "write", "/work/project/out.txt"),
        ("cp a.txt b/c.txt", "write", "/work/project/b/c.txt"),
        ("tee a.txt", "write", "/work/project/a.txt"),
        ("sed -i s/a/b/ a.txt", "write", "/work/project/a.txt"),
        ("curl -o a.json https://example.com/x", "write", "/work/project/a.json"),
        ("rm build.log", "delete", "/work/project/build.log"),
        ("mv a.txt b.txt", "delete", "/work/project/a.txt"),
        ("cd src && rm a.py", "delete", "/work/project/src/a.py"),
        ("git reset --hard", "delete", "git reset --hard"),
        ("psql -c 'DROP TABLE users'", "delete", "DROP TABLE"),
        ("curl https://example.com/x", "network", "example.com"),
        ("git clone https://example.com/x.git", "network", "example.com"),
        (
            "python -c 'import requests; requests.get(\"https://example.com\")'",
            "network",
            "example.com",
        ),
        ("curl -T a.txt https://example.com/", "send", "example.com"),
        ("curl -d '{\"a\": 1}' https://example.com/", "send", "example.com"),
        ("scp a.txt host.example.com:", "send", "host.example.com"),
        ("git push", "send", "origin"),
        ("git push upstream main", "send", "upstream"),
        ("npm publish", "send", "npm publish"),
        ("gh pr create --fill", "send", "gh pr create --fill"),
        ("crontab jobs", "schedule", "crontab jobs"),
        ("echo x >> AGENTS.md", "configure", "/work/project/AGENTS.md"),
        ("git config core.hooksPath h", "configure", "git config core.hooksPath h"),
        ("hookline plugins", "configure", "hookline"),
        ("./run.sh", "execute", "./run.sh"),
        ("python app.py", "execute", "python app.py"),
        ("make test", "execute", "make"),
        ("bash setup.sh", "execute", "setup.sh"),
        ("frobnicate --now", "unknown", "frobnicate"),
    ],
)
def test_a_command_tells_what_it_may_do(
    effects: Callable[..., Sequence[Any]], command: str, kind: str, target: str
) -> None:
    assert target in kinds(effects(command), kind), effects(command)


@pytest.mark.parametrize("command", ["ls -la", "grep -rn x src", "git status", "echo hello", "pwd"])
def test_a_command_that_only_looks_has_no_other_effect(
    effects: Callable[..., Sequence[Any]], command: str
) -> None:
    assert {effect.kind for effect in effects(command)} <= {"read"}


UNSEEN = ["python app.py", "./run.sh", "make", "frobnicate", "bash x.sh", "npm test", "$X now"]


def test_who_is_no_operator_is_asked_about_what_cannot_be_seen(setting: Verdict) -> None:
    assert [c for c in UNSEEN if setting(c, operator=False) is None] == []
    assert setting("ls -la && git status && grep -rn x src", operator=False) is None


def test_a_sandbox_needs_no_question_for_what_stays_in_it(setting: Verdict) -> None:
    for command in [*UNSEEN, "cat /etc/passwd", "cat ../other.txt"]:
        assert setting(command, operator=False, sandboxed=True) is None, command


@pytest.mark.parametrize(
    "command",
    [
        *("rm -rf .git", "git reset --hard", "git push --force", "rm -rf /work/project"),
        *("curl -T a.txt https://example.com/", "scp a.txt example.com:", "npm publish"),
        *("crontab jobs", "echo x > .git/hooks/pre-commit", "echo x >> AGENTS.md"),
        *("hookline pairing claim", "terraform destroy", "psql -c 'DROP TABLE users'"),
        "curl http://169.254.169.254/latest/meta-data/",
    ],
)
def test_a_sandbox_does_not_cover_what_leaves_lasts_or_destroys(
    setting: Verdict, command: str
) -> None:
    assert setting(command, sandboxed=True) is not None


def test_checkpoints_cover_what_they_bring_back(setting: Verdict) -> None:
    for command in ("git checkout -- .", "git restore .", "git reset --hard"):
        assert setting(command) is not None
        assert setting(command, checkpoints=True) is None
    for command in (
        *("rm -rf .git", "git push --force", "git branch -D x", "git stash drop", "git clean -fd"),
        *("git reset --hard HEAD~1", "git reset --hard origin/main", "git rebase main"),
        *("cd /other && git reset --hard", "git -C /other restore .", "git -C $X restore ."),
        *("GIT_WORK_TREE=/other git restore .", "git --work-tree=/other checkout -- ."),
        *("ssh host 'git reset --hard'", "./build.sh && git reset --hard"),
        'python3 -c \'import subprocess as s; s.run(["git", "restore", "."], cwd="/other")\'',
    ):
        assert setting(command, checkpoints=True) is not None, command


@pytest.mark.parametrize(
    "piece", ["open( ", "require('", "/* ", "alter table x ", "POST readFile "]
)
@pytest.mark.slow
def test_what_is_made_to_be_slow_to_read_gets_a_verdict(verdict: Verdict, piece: str) -> None:
    code = piece * (60_000 // len(piece))
    verdict(f"node <<'END'\n{code}\nEND")  # minutes once, where a search grew with the square
    verdict(f"psql <<'END'\n{code}\nEND")
