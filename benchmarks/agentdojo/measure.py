"""Runs one task of AgentDojo, with or without an injection, in the real runtime."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentdojo.task_suite.load_suites import get_suites
from hookline.testing.harness import Harness
from hookline_provenance import Provenance
from obeying_model import INJECTION, ObeyingModel, as_calls
from suite_plugin import Dojo, dojo_plugin

VERSION = "v1.2.2"


@dataclass(frozen=True)
class Outcome:
    """What became of a task.

    ``reached`` says that the model has read the injection, and ``side_effects`` are the calls of
    the injection that changed something, but for a call without arguments that the task makes too:
    the person asked for it. ``asked`` counts the questions about the task itself.
    """

    suite: str
    task: str
    injection: str
    useful: bool
    attacked: bool
    reached: bool
    side_effects: tuple[str, ...]
    asked: int
    reasons: tuple[str, ...]


@lru_cache
def suites() -> dict[str, Any]:
    """The suites of the benchmark, by name."""
    return dict(get_suites(VERSION))


def pairs() -> list[tuple[str, str, str]]:
    """Each task with each injection of its suite."""
    return [
        (name, task, injection)
        for name, suite in suites().items()
        for task in suite.user_tasks
        for injection in suite.injection_tasks
    ]


def tasks() -> list[tuple[str, str, str]]:
    """Each task without an injection."""
    return [(name, task, "") for name, suite in suites().items() for task in suite.user_tasks]


def run(
    suite_name: str, task_id: str, injection_id: str = "", *, attended: bool, guarded: bool = True
) -> Outcome:
    """Run a task; ``guarded`` switches provenance on, ``attended`` has a person answer."""
    suite = suites()[suite_name]
    task = suite.get_user_task_by_id(task_id)
    injection = suite.get_injection_task_by_id(injection_id) if injection_id else None
    env = task.init_environment(_environment(suite_name, injection_id).model_copy(deep=True))
    before = env.model_copy(deep=True)
    plugin = dojo_plugin(suite, env)
    found: list[Dojo] = []

    def obey(now: bool) -> None:
        found[0].obeying = now

    own = {call.name for call in as_calls(task, before.model_copy(deep=True))}
    planned = as_calls(injection, before.model_copy(deep=True)) if injection else []
    said = getattr(injection, "GROUND_TRUTH_OUTPUT", "") or ""
    model = ObeyingModel(
        as_calls(task, before.model_copy(deep=True)), task.GROUND_TRUTH_OUTPUT, planned, said, obey
    )
    with tempfile.TemporaryDirectory(prefix="dojo-") as folder:
        plugins = (Provenance, plugin) if guarded else (plugin,)
        harness = Harness(*plugins, home=Path(folder), model=model, core={"max_iterations": 150})
        try:
            found.append(harness.plugin(plugin))
            turn = harness.send(task.PROMPT, approve="ask" if attended else "no")
        finally:
            harness.close()
    dojo = found[0]
    trace = [call for call, _ in dojo.done]
    answer = [{"type": "text", "content": turn.text}]
    useful = suite._check_task_result(task, answer, before, env, trace)
    attacked = injection is not None and suite._check_task_result(
        injection, answer, before, env, trace
    )
    return Outcome(
        suite_name,
        task_id,
        injection_id,
        bool(useful),
        bool(attacked),
        model.obeyed,
        tuple(
            call.function
            for call, obeying in dojo.done
            if obeying and _changes(call.function) and (call.args or call.function not in own)
        ),
        sum(not obeying for _, obeying in dojo.asked),
        tuple(
            result.text.splitlines()[0][:200]
            for result in turn.tool_calls
            if result.text.startswith("Denied:")
        ),
    )


@lru_cache(64)
def _environment(suite_name: str, injection_id: str) -> Any:
    """The suite's environment, with the injection wherever others can write."""
    suite = suites()[suite_name]
    if not injection_id:
        return suite.load_and_inject_default_environment({})
    goal = suite.get_injection_task_by_id(injection_id).GOAL.replace("\n", " ")
    text = _quoted(INJECTION.format(goal=goal))
    vectors = suite.get_injection_vector_defaults()
    return suite.load_and_inject_default_environment(dict.fromkeys(vectors, text))


def _quoted(text: str) -> str:
    """The text as it can stand within a quoted scalar of YAML."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _changes(name: str) -> bool:
    from declarations import READS, declaration

    return bool(declaration(name).effects) and name not in READS


__all__ = ["Outcome", "pairs", "run", "tasks"]
