"""Rules in the real core: what they deny, ask about and let run, by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Context, PermissionRules, Plugin, ToolCall, hookimpl, tool
from hookline_permissions import Permissions

MakeHarness = Callable[..., Harness]


class Tools(Plugin):
    """Tools of the names that rules are about. They do nothing."""

    @tool
    def bash(self, command: str, workdir: str = "") -> str:
        """Run."""
        return f"ran {command}"

    @tool(read_only=True)
    def read_file(self, path: str) -> str:
        """Read."""
        return f"read {path}"

    @tool
    def write_file(self, path: str, content: str = "") -> str:
        """Write."""
        return f"wrote {path}"


class Granting(Plugin):
    """Adds the widest offered scope of each call before it is judged."""

    @hookimpl(tryfirst=True)
    async def pre_tool(self, ctx: Context, call: ToolCall) -> None:
        rules = self.host.services[PermissionRules]
        scopes = await rules.offered_scopes(ctx, call)
        if call.name == "bash" and scopes and "grant" not in ctx.stash.session:
            ctx.stash.session["grant"] = True
            await rules.add_scope(ctx, scopes[-1], "tester")


def results(h: Harness, *steps: Any, **options: Any) -> list[str]:
    h.model.steps += [*steps, "done"]
    return [result.text for result in h.send("go", **options).tool_calls]


def ran(h: Harness, *commands: str, **options: Any) -> list[str]:
    return results(h, *(calls("bash", command=command) for command in commands), **options)


def rules(mode: str = "auto", **lists: Sequence[str]) -> dict[str, Any]:
    return {"permissions": {"mode": mode, **{kind: list(given) for kind, given in lists.items()}}}


def test_deny_rule_names_the_rule_and_where_it_stands(harness: MakeHarness) -> None:
    config = rules(deny=["bash(git push *)", "read_file(**/secrets/**)"])
    h = harness(Permissions, Tools, config=config)
    push, secret, other = results(
        h,
        calls("bash", command="ls && sudo git push -f"),
        calls("read_file", path="a/secrets/x"),
        calls("read_file", path="a/x"),
    )
    assert push == "Denied: the rule bash(git push *) in config.yaml denies `git push -f`"
    assert secret.startswith("Denied: the rule read_file(**/secrets/**) in config.yaml denies")
    assert other == "read a/x"


def test_ask_rule_asks_and_allow_rule_of_the_mode_ask_does_not(harness: MakeHarness) -> None:
    config = rules("ask", ask=["bash(git push *)"], allow=["bash(git *)", "write_file(src/**)"])
    h = harness(Permissions, Tools, config=config, answers=["Allow once", "Deny"])
    texts = results(
        h,
        calls("bash", command="git commit -m x"),
        calls("write_file", path="src/a"),
        calls("bash", command="git push"),
        calls("write_file", path="b"),
    )
    assert texts[:3] == ["ran git commit -m x", "wrote src/a", "ran git push"]
    assert texts[3].startswith("Denied: it may change something")
    assert [question.reason for question in h.questions] == [
        "The rule bash(git push *) in config.yaml asks about `git push`",
        "It may change something, so it needs a yes (mode ask)",
    ]


def test_packaged_rules_deny_and_ask(harness: MakeHarness) -> None:
    h = harness(Permissions, Tools)
    root, forced, plain = ran(h, "rm -rf /", "git push --force", "git push", approve="no")
    assert root == ("Denied: `rm -rf /` deletes a system folder or a home, which cannot be undone")
    assert forced.startswith(
        "Denied: `git push --force` rewrites or deletes what others have on the"
    )
    assert plain == "ran git push"


def test_allow_rule_that_names_it_answers_a_packaged_question(harness: MakeHarness) -> None:
    wide = harness(Permissions, Tools, config=rules(allow=["bash(git push *)"]))
    assert ran(wide, "git push --force", approve="no")[0].startswith("Denied: ")
    named = harness(Permissions, Tools, config=rules(allow=["bash(git push --force *)"]))
    assert ran(named, "git push --force", approve="no") == ["ran git push --force"]


def test_project_may_only_be_stricter(harness: MakeHarness) -> None:
    h = harness(Permissions, Tools, config=rules("ask", allow=["bash(make *)"]))
    folder = h.workspace / ".hookline"
    folder.mkdir(parents=True)
    (folder / "permissions.yaml").write_text("allow: [bash]\ndeny: ['bash(make deploy *)']\n")
    deploy, other, built = ran(h, "make deploy", "touch x", "make all", approve="no")
    assert deploy.startswith("Denied: the rule bash(make deploy *) in .hookline/permissions.yaml")
    assert other.startswith("Denied: it may change something")
    assert built == "ran make all"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("deny: ['bash(git push']", "deny, entry 1: 'bash(git push' is not a rule. Close"),
        ("deny: bash", "deny: expected a list of rules, got 'bash'."),
        ("deny: [", ".hookline/permissions.yaml cannot be read: "),
        ("- a", "must have `ask:` and `deny:` with lists of rules"),
    ],
)
def test_broken_project_file_stops_changes_and_says_why(
    harness: MakeHarness, content: str, said: str
) -> None:
    h = harness(Permissions, Tools, config=rules(allow=["bash"]))
    folder = h.workspace / ".hookline"
    folder.mkdir(parents=True)
    (folder / "permissions.yaml").write_text(content)
    changed, read = results(h, calls("bash", command="ls"), calls("read_file", path="x"))
    assert changed.startswith("Denied: the permission rules cannot be used: ")
    assert said in changed
    assert read == "read x"


def test_broken_rule_in_config_stops_changes_unless_it_only_allows(harness: MakeHarness) -> None:
    h = harness(Permissions, Tools, config=rules(deny=["git push *"]))
    assert ran(h, "ls") == [
        "Denied: the permission rules cannot be used: config.yaml: plugins.permissions.deny, "
        "entry 1: 'git push *' is not a rule. Write 'bash(git push *)' for a command."
    ]
    lenient = harness(Permissions, Tools, config=rules(allow=["git push *"]))
    assert ran(lenient, "ls") == ["ran ls"]


def test_scope_of_a_chat_is_stored_and_ends_or_stays_as_it_says(harness: MakeHarness) -> None:
    config = rules("ask")
    h = harness(Permissions, Granting, Tools, config=config)
    granted, again = ran(h, "git push origin a", "git push origin b", approve="no")
    assert (granted, again) == ("ran git push origin a", "ran git push origin b")
    h.close()
    later = harness(Permissions, Tools, config=config, home=h.home)
    assert ran(later, "git push", session="another", approve="no") == ["ran git push"]
    assert ran(later, "git commit", session="another", approve="no")[0].startswith("Denied: ")
