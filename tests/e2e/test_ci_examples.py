"""``examples/github-action`` and ``examples/pre-commit``, run with a scripted model.

The action's steps run as GitHub runs them: in order, each with bash and its own environment, in a
checkout of a pull request. ``gh`` is replaced by a program that records its calls.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from meta.tree import ROOT
from support.machine import Machine

ACTION = ROOT / "examples" / "github-action"
HOOK = ROOT / "examples" / "pre-commit"
FINDING = {"path": "stats.py", "line": 2, "severity": "high", "text": "`mean` subtracts @you 1."}
REVIEW = {"summary": "Adds a mean.", "findings": [FINDING]}
GH = """#!/bin/sh
printf '%s\\n' "$*" >>"$GH_CALLS"
[ "$GH_TOKEN" = write-token ] || exit 1
case "$*" in *--paginate*) printf '%s' "$GH_FOUND" ;; esac
"""
_PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40}")
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


class Checkout:
    """A pull request: a base commit, and one that adds ``stats.py``."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.env = {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
            self.git("config", key, value)
        (folder / "README.md").write_text("Numbers.\n", "utf-8")
        self.git("add", "README.md")
        self.git("commit", "--quiet", "--message=Begin")
        self.base = self.git("rev-parse", "HEAD").strip()

    def stage(self) -> None:
        text = "def mean(n):\n    return sum(n) / len(n) - 1\n"
        (self.folder / "stats.py").write_text(text, "utf-8")
        self.git("add", "stats.py")

    def git(self, *arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, text=True, check=True
        ).stdout


class Runner:
    """Runs the steps of the composite action."""

    def __init__(self, checkout: Checkout, folder: Path, inputs: Mapping[str, str]) -> None:
        self.action: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
        self.folder = folder
        programs = folder / "programs"
        programs.mkdir(parents=True)
        self._program(programs / "gh", GH)
        python = f'#!/bin/sh\nexec "{sys.executable}" -m hookline "$@"\n'
        self._program(programs / "hookline", python)
        files = ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GH_CALLS")
        for name in files:
            (folder / name).touch()
        self.checkout = checkout
        self.env = {
            **checkout.env,
            **{name: str(folder / name) for name in files},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ACTION),
            "GITHUB_WORKSPACE": str(checkout.folder),
            "RUNNER_TEMP": str(folder),
            "GH_FOUND": "",
        }
        given = {name: one.get("default", "") for name, one in self.action["inputs"].items()}
        self.context = {f"inputs.{name}": text for name, text in (given | dict(inputs)).items()} | {
            "github.event.pull_request.base.sha": checkout.base,
            "github.event.pull_request.number": "7",
            "github.repository": "ann/numbers",
        }

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        path.chmod(0o755)

    def run(self) -> list[subprocess.CompletedProcess[str]]:
        """Run the steps until one fails."""
        done = []
        for step in self.action["runs"]["steps"]:
            own = {name: self._value(text) for name, text in step["env"].items()}
            assert step["shell"] == "bash"
            assert "${{" not in step["run"], "text of others would become a part of the script"
            done.append(
                subprocess.run(
                    ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                    cwd=self.checkout.folder,
                    env=self.env | own,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                )
            )
            if done[-1].returncode:
                break
        return done

    def _value(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self.context[found[1]], text)

    def text(self, name: str) -> str:
        """Return the content of a file that a step wrote."""
        return (self.folder / name).read_text("utf-8")


def model(folder: Path, *steps: dict[str, Any]) -> str:
    """A scripted model, named from a checkout beside its file."""
    (folder / "model.json").write_text(json.dumps({"steps": steps}), "utf-8")
    return "scripted/../model.json"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    found = Checkout(tmp_path / "numbers", tmp_path)
    found.stage()
    return found


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, str]:
    read = {"name": "read_file", "arguments": {"path": "stats.py"}}
    write = {"name": "write_file", "arguments": {"path": "stats.py", "content": "x"}}
    steps = (
        {"when": "len\\(n\\) - 1", "tools": [read]},
        {"tools": [write]},
        {"when": "Denied", "text": json.dumps(REVIEW)},
        {"text": "I am not done."},
    )
    return {
        "model": model(tmp_path, *steps),
        "api-key": "secret-key",
        "github-token": "write-token",
        "package": "",
    }


@pytest.mark.long
def test_action_reviews_a_pull_request_and_comments(
    checkout: Checkout, tmp_path: Path, inputs: dict[str, str]
) -> None:
    checkout.git("commit", "--quiet", "--message=Add a mean")
    runner = Runner(checkout, tmp_path / "runner", inputs)
    done = runner.run()
    assert [one.returncode for one in done] == [0, 0, 0], done[-1].stderr
    assert runner.text("GITHUB_OUTPUT") == "findings=1\n"
    comment = runner.text("comment.md")
    assert comment.startswith("<!-- hookline-review -->\n")
    assert "**high** stats&#46;py&#58;2" in comment
    assert "@you" not in comment
    assert runner.text("GITHUB_STEP_SUMMARY") == comment
    listed, posted = runner.text("GH_CALLS").splitlines()
    assert listed.startswith("api --paginate repos/ann/numbers/issues/7/comments")
    assert posted.startswith("api --silent --method POST repos/ann/numbers/issues/7/comments")
    assert "- 1" in (checkout.folder / "stats.py").read_text("utf-8"), "the model wrote"
    assert not checkout.git("status", "--porcelain")


@pytest.mark.long
def test_action_updates_its_comment(
    checkout: Checkout, tmp_path: Path, inputs: dict[str, str]
) -> None:
    checkout.git("commit", "--quiet", "--message=Add a mean")
    runner = Runner(checkout, tmp_path / "runner", inputs)
    runner.env["GH_FOUND"] = "41\n42\n"
    assert [one.returncode for one in runner.run()] == [0, 0, 0]
    last = runner.text("GH_CALLS").splitlines()[-1]
    assert last.startswith("api --silent --method PATCH repos/ann/numbers/issues/comments/41 ")


@pytest.mark.long
def test_action_fails_at_its_limit_without_a_comment(
    checkout: Checkout, tmp_path: Path, inputs: dict[str, str]
) -> None:
    checkout.git("commit", "--quiet", "--message=Add a mean")
    runner = Runner(checkout, tmp_path / "runner", inputs | {"max-turns": "1"})
    done = runner.run()
    assert [one.returncode for one in done] == [0, 1]
    assert "limit of 1 model calls" in done[-1].stderr
    assert runner.text("GH_CALLS") == ""


def test_action_gives_key_and_token_to_one_step_each() -> None:
    steps = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))["runs"]["steps"]
    given = [set(step["env"].values()) for step in steps]
    assert ["${{ inputs.api-key }}" in one for one in given] == [False, True, False]
    assert ["${{ inputs.github-token }}" in one for one in given] == [False, False, True]


def test_workflow_is_pinned_safe_for_forks_and_has_few_permissions() -> None:
    workflow = yaml.safe_load((ACTION / "review.yml").read_text("utf-8"))
    job = workflow["jobs"]["review"]
    assert list(workflow[True]) == ["pull_request"]  # YAML reads the key `on` as true
    assert workflow["permissions"] == {}
    assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "head.repo.full_name == github.repository" in job["if"]
    for step in job["steps"]:
        assert step["uses"].startswith("./") or _PINNED.fullmatch(step["uses"])
        if "checkout" in step["uses"]:
            assert step["with"]["persist-credentials"] is False
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    used = next(one["with"] for one in job["steps"] if one["uses"].startswith("./"))
    assert set(used) <= set(action["inputs"])


def commit(checkout: Checkout, machine: Machine, **env: str) -> subprocess.CompletedProcess[str]:
    """Commit with the hook that ``.pre-commit-config.yaml`` names."""
    text = (HOOK / ".pre-commit-config.yaml").read_text("utf-8")
    (hook,) = yaml.safe_load(text)["repos"][0]["hooks"]
    folder = checkout.folder / "hooks"
    folder.mkdir()
    for name in ("review-staged", "review.schema.json"):
        (folder / name).write_bytes((HOOK / name).read_bytes())
        (folder / name).chmod((HOOK / name).stat().st_mode)
    entry = checkout.folder / ".git" / "hooks" / "pre-commit"
    entry.write_text(f"#!/bin/sh\nexec {hook['entry']}\n", "utf-8")
    entry.chmod(0o755)
    programs = checkout.folder.parent / "programs"
    programs.mkdir()
    hookline = programs / "hookline"
    hookline.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hookline "$@"\n', "utf-8")
    hookline.chmod(0o755)
    environ = machine.environment() | checkout.env | env
    return subprocess.run(
        ["git", "commit", "--message=Add a mean"],
        cwd=checkout.folder,
        env=environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize(("severity", "commits"), [("high", False), ("medium", True)])
def test_hook_stops_a_commit_with_a_serious_finding(
    checkout: Checkout, machine: Machine, tmp_path: Path, severity: str, commits: bool
) -> None:
    review = REVIEW | {"findings": [FINDING | {"severity": severity}]}
    name = model(tmp_path, {"when": "len\\(n\\) - 1", "text": json.dumps(review)})
    done = commit(checkout, machine, HOOKLINE_REVIEW_MODEL=name)
    assert f"{severity}: stats.py:2: `mean` subtracts @you 1." in done.stdout + done.stderr
    assert (done.returncode == 0) is commits
    assert ("Add a mean" in checkout.git("log", "--oneline")) is commits


@pytest.mark.long
@pytest.mark.parametrize(("required", "commits"), [("", True), ("1", False)])
def test_hook_without_an_answer_stops_only_a_required_review(
    checkout: Checkout, machine: Machine, tmp_path: Path, required: str, commits: bool
) -> None:
    name = model(tmp_path, {"text": "Looks good."}, {"text": "Really."})
    done = commit(checkout, machine, HOOKLINE_REVIEW_MODEL=name, HOOKLINE_REVIEW_REQUIRED=required)
    assert "The change was not reviewed." in done.stderr
    assert (done.returncode == 0) is commits
