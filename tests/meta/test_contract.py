"""The hooks are those of the contract, and each is documented, typed and tested."""

from __future__ import annotations

import ast
import inspect
from typing import NamedTuple, get_args

import pytest
from hookline_hookspecs import HOOKS, SIGNALS, SLOTS, HookSpecs, Kind

from meta.tree import PLUGINS, ROOT


class Row(NamedTuple):
    """What is promised of a hook: its kind, its deadline in seconds, its second argument."""

    kind: str
    deadline: float | None
    event: str


REGISTER = Row("collect", 5, "register")
CONTRACT = {
    "setup": Row("observe", 30, "host"),
    "teardown": Row("observe", 30, "host"),
    "register_tools": REGISTER,
    "register_cli": REGISTER,
    "register_channels": REGISTER,
    "register_routes": REGISTER,
    "register_checks": REGISTER,
    "register_jobs": REGISTER,
    "register_reviewers": REGISTER,
    "start_of_session": Row("observe", 10, "session"),
    "end_of_session": Row("observe", 10, "session"),
    "system_prompt": Row("collect", 10, "session"),
    "on_message": Row("guard", 10, "inbound"),
    "on_voice": Row("first", 120, "audio"),
    "start_of_turn": Row("observe", 10, "turn"),
    "pre_prompt": Row("collect", 30, "turn"),
    "pre_model": Row("pipeline", 120, "request"),
    "pre_send": Row("pipeline", 5, "wire"),
    "around_model": Row("around", None, "request"),
    "around_tool": Row("around", None, "call"),
    "post_model": Row("observe", 10, "response"),
    "pre_tool": Row("guard", 5, "call"),
    "post_tool": Row("pipeline", 10, "result"),
    "post_answer": Row("collect", None, "turn"),
    "end_of_turn": Row("observe", None, "turn"),
    "pre_reply": Row("pipeline", 120, "reply"),
    "on_question": Row("first", None, "question"),
    "pre_learn": Row("guard", 30, "lesson"),
    "pre_read": Row("guard", 10, "excerpt"),
    "pre_compact": Row("observe", 120, "session"),
    "on_error": Row("observe", 10, "error"),
}
"""The promised table. A change here is a change of what plugin authors rely on."""
PROMISED_SIGNALS = {"delta", "reply_sent", "compacted", "plugin_failed", "budget"}
PROMISED_SLOTS = "identity guidance operator memory user skills context date channel"


def test_hooks_match_the_contract() -> None:
    declared = {name: Row(hook.kind, hook.deadline, hook.event) for name, hook in HOOKS.items()}
    assert declared == CONTRACT


def test_hook_table_follows_the_contract() -> None:
    assert {name for name, hook in HOOKS.items() if hook.background} == {"end_of_turn"}
    assert {name for name, hook in HOOKS.items() if hook.sync} == {
        name for name in CONTRACT if name.startswith("register_")
    }
    assert set(SIGNALS) >= PROMISED_SIGNALS
    assert not set(SIGNALS) & set(HOOKS), "a signal of a hook's name is sent by the bus itself"
    assert " ".join(SLOTS) == PROMISED_SLOTS


@pytest.mark.parametrize("name", HOOKS)
def test_hook_has_a_kind_and_a_complete_docstring(name: str) -> None:
    hook = HOOKS[name]
    assert hook.kind in get_args(Kind)
    summary = hook.doc.partition("\n")[0]
    assert len(summary.split()) >= 4, f"{name} needs a first line that says when it fires"
    assert hook.doc.rstrip().endswith((".", ".``")), f"the docstring of {name} breaks off"


@pytest.mark.parametrize("name", HOOKS)
def test_hook_takes_the_context_and_one_event(name: str) -> None:
    signature = inspect.signature(getattr(HookSpecs, name))
    boot = name in ("setup", "teardown") or name.startswith("register_")
    expected = ["self", HOOKS[name].event] if boot else ["self", "ctx", HOOKS[name].event]
    assert list(signature.parameters) == expected
    assert signature.return_annotation is not inspect.Signature.empty


def test_every_hook_has_its_own_test() -> None:
    files = [*(ROOT / "tests").rglob("test_*.py"), *PLUGINS.glob("*/*/tests/**/test_*.py")]
    functions = {
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    untested = [name for name in HOOKS if f"test_hook_{name}" not in functions]
    assert not untested, "write test_hook_<name> for: " + ", ".join(untested)
