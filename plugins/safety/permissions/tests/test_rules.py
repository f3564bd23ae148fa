"""What rules match, and what is said about those that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hookline.testing import guarded_paths
from hookline_hookspecs import Paths, ToolCall
from hookline_permissions.packaged_rules import packaged_rules
from hookline_permissions.rule_set import RuleSet
from hookline_permissions.rules import Kind, Rule, RuleError, parse_rule


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    home = tmp_path / "person"
    (home / "work" / "src").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return guarded_paths(home / "work", home / ".hookline")


def rule(kind: Kind, text: str) -> Rule:
    return parse_rule(kind, text, "config.yaml")


def verdict(paths: Paths, call: ToolCall, **rules: str | list[str]) -> str | None:
    """The kind of the rule that decides, with the packaged rules after the given ones."""
    given = [
        rule(kind, text)  # type: ignore[arg-type]
        for kind, texts in rules.items()
        for text in ([texts] if isinstance(texts, str) else texts)
    ]
    packaged = [one.rule for one in packaged_rules()]
    return RuleSet([*given, *packaged]).decide(call, paths).kind


def command(text: str) -> ToolCall:
    return ToolCall("1", "bash", {"command": text})


def call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall("1", tool, arguments)


@pytest.mark.parametrize(
    ("allow", "covered", "not_covered"),
    [
        (
            "git push *",
            ["git push", "git push origin main", "/usr/bin/git push", "timeout 5 git push -v"],
            [
                "git -c core.sshCommand=x push",
                "git push && make",
                "git push > ~/.bashrc",
                "git push; $(x)",
                "GIT_SSH_COMMAND=x git push",
                "./git push",
                "git push --force",
                "sudo git push",
                "git push $X",
                "git\u200b push",
                "git 'push",
                "f() { make; }; git push; f",
            ],
        ),
        ("npm test", ["npm test", "CI=1 npm test"], ["npm test x", "npm test --x", "npm"]),
        ("make|just build|test *", ["make build", "just test -v"], ["make clean", "make"]),
        ("tar -xf *", ["tar -xf a.tgz", "tar -x -f a.tgz"], ["tar -cf a.tgz x"]),
        ("git push --force *", ["git push --force", "git push origin --force"], ["git fetch -f"]),
        (
            "sudo systemctl restart nginx",
            ["sudo systemctl restart nginx"],
            ["sudo systemctl stop x"],
        ),
        (
            "cp * ~/backup/*",
            ["cp a.txt ~/backup/a"],
            ["cp a.txt ~/other/a", "cp ~/.netrc ~/backup/a"],
        ),
        (
            "head *",
            ["head a.txt"],
            ["head ~/.ssh/id_rsa", "head .env", "head /root/x", "head ../x"],
        ),
        ("./run.sh *", ["./run.sh x"], ["run.sh x", "../run.sh x"]),
        ("*", ["make"], ["$X", "make > /etc/x"]),
        ("=make  && git push", ["make  && git push", " make  && git push\n"], ["make && git push"]),
    ],
)
def test_allow_rule_covers_only_whole_commands_that_it_names(
    paths: Paths, allow: str, covered: list[str], not_covered: list[str]
) -> None:
    found = {one: verdict(paths, command(one), allow=f"bash({allow})") for one in covered}
    assert {one for one, kind in found.items() if kind != "allow"} == set()
    if allow == "*":
        return  # every call of the tool
    found = {one: verdict(paths, command(one), allow=f"bash({allow})") for one in not_covered}
    assert {one for one, kind in found.items() if kind == "allow"} == set()


@pytest.mark.parametrize(
    ("deny", "denied", "not_denied"),
    [
        (
            "git push --force|-f *",
            [
                "git push -f",
                "git -C sub push origin main --force",
                "sudo git push -uf origin",
                "ls; if x; then env A=1 /usr/bin/git push -f; fi",
                "bash -c 'git push -f'",
                'echo "$(git push -f)"',
                "git push $X -f",
            ],
            ["git push", "echo git push -f", "git fetch -f"],
        ),
        ("rm -rf *", ["rm -rf x", "rm -fr x", "rm -r -v -f x"], ["rm -r x", "rm x"]),
        ("docker", ["docker"], ["docker ps"]),
        ("terraform *", ["terraform", "terraform apply"], ["terraforming x"]),
        ("> secrets/*", ["ls > secrets/x", "cat a >> secrets/x"], ["cat secrets/x"]),
    ],
)
def test_deny_rule_matches_every_spelling_of_a_command(
    paths: Paths, deny: str, denied: list[str], not_denied: list[str]
) -> None:
    rules = {"deny": f"bash({deny})", "allow": "bash"}
    found = {one: verdict(paths, command(one), **rules) for one in denied}
    assert {one for one, kind in found.items() if kind != "deny"} == set()
    found = {one: verdict(paths, command(one), **rules) for one in not_denied}
    assert {one for one, kind in found.items() if kind == "deny"} == set()


def test_the_strictest_rule_decides(paths: Paths) -> None:
    push = command("git push origin main")
    assert verdict(paths, push, allow="bash(git push *)", ask="bash(git *)") == "ask"
    assert verdict(paths, push, ask="bash(git *)", deny="bash(git push *)") == "deny"
    assert verdict(paths, command("git push; rm -rf /"), allow="bash") == "deny"


@pytest.mark.parametrize(
    ("text", "fitting", "other"),
    [
        (
            "write_file|edit_file(src/**)",
            [call("write_file", path="src/a/b.py"), call("edit_file", path="./src/x")],
            [call("write_file", path="src/../x"), call("write_file", path="srcs/x")],
        ),
        ("read_file(/usr/include/**)", [call("read_file", path="/usr/include/a/b.h")], []),
        (
            "read_file(~/notes/*.md)",
            [call("read_file", path="~/notes/a.md")],
            [call("read_file", path="~/notes/x/a.md"), call("read_file", path="notes/a.md")],
        ),
        (
            "read_file(**/secrets/**)",
            [call("read_file", path="a/secrets/b")],
            [call("read_file", path="secret/x")],
        ),
        (
            "web_fetch(domain:docs.python.org)",
            [call("web_fetch", url="https://Docs.Python.org/3/")],
            [
                call("web_fetch", url="https://docs.python.org.evil.example/"),
                call("web_fetch", url="https://evil.example/?docs.python.org"),
                call("web_fetch", url="https://docs.python.org@evil.example/"),
            ],
        ),
        (
            "web_fetch(https://*.example.com/api/*)",
            [call("web_fetch", url="https://a.example.com/api/x?y=1")],
            [
                call("web_fetch", url="https://evil.example/x.example.com/api/x"),
                call("web_fetch", url="http://a.example.com/api/x"),
            ],
        ),
        ("mcp__github__*", [call("mcp__github__search", q=1)], [call("mcp__gitlab__search")]),
    ],
)
def test_rules_of_other_tools_match_their_argument(
    paths: Paths, text: str, fitting: list[ToolCall], other: list[ToolCall]
) -> None:
    assert [verdict(paths, one, allow=text) for one in fitting] == ["allow"] * len(fitting)
    assert [verdict(paths, one, allow=text) for one in other] == [None] * len(other)


def test_allow_rule_follows_links_and_deny_rule_both_names(paths: Paths) -> None:
    workspace = paths.workspace
    (workspace / "src" / "link").symlink_to(workspace / "secrets")
    linked = call("write_file", path="src/link/x")
    assert verdict(paths, linked, allow="write_file(src/**)") is None
    assert verdict(paths, linked, deny="write_file(secrets/**)") == "deny"
    assert verdict(paths, linked, deny="write_file(src/link/**)") == "deny"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bash(git log", "Close the bracket: 'bash(git log)'."),
        ("git log *", "Write 'bash(git log *)' for a command."),
        ("bash git log", "Write 'bash(git log)'."),
        ("Bash(git log:*)", "the tool is called bash here."),
        ("bash(npm run:*)", "write 'bash(npm run *)'."),
        ('bash(git commit -m "x")', "Write 'git commit -m x'."),
        ("bash(make && git push)", "Write one rule for each program."),
        ("bash()", "Write 'bash' for every call of the tool."),
        ("web_fetch(example.com)", "write web_fetch(domain:HOST)"),
        ("web_fetch(domain:a b)", "such as domain:docs.python.org."),
        ("bash(rm <everything>)", "is not a kind of path"),
        ("read_file(x) #sha256:0123456789abcdef", "only a rule of bash"),
        ("", "Write TOOL or TOOL(pattern)"),
        (5, "expected a rule in quotes, got 5."),
        ("bash(" + "x" * 3_000 + ")", "Shorten it."),
    ],
)
def test_what_is_no_rule_gets_a_sentence(text: Any, said: str) -> None:
    with pytest.raises(RuleError) as error:
        parse_rule("allow", text, "config.yaml")
    assert said in str(error.value)


def test_rule_bound_to_content_ends_with_the_content(paths: Paths) -> None:
    from hookline_permissions.offers import offered_scopes

    script = paths.workspace / "deploy.sh"
    script.write_text("echo 1\n")
    packaged = RuleSet(one.rule for one in packaged_rules())
    for line in ("bash deploy.sh --all", "./deploy.sh", "make all", "npm run build"):
        (paths.workspace / "Makefile").write_text("all:\n")
        (paths.workspace / "package.json").write_text('{"scripts": {"build": "tsc"}}')
        script.write_text("echo 1\n")
        scopes = offered_scopes(command(line), paths, packaged)
        assert [len(scope.rules) for scope in scopes] == [1, 1], line
        for scope in scopes:
            allowed = {"allow": list(scope.rules)}
            assert verdict(paths, command(line), **allowed) == "allow"
        script.write_text("rm -rf x\n")
        (paths.workspace / "Makefile").write_text("all:\n\trm x\n")
        (paths.workspace / "package.json").write_text('{"scripts": {"build": "rm x"}}')
        for scope in scopes:
            assert verdict(paths, command(line), allow=list(scope.rules)) is None
        (paths.workspace / "package.json").write_text("{")
