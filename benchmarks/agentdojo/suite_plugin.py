"""Offers the tools of an AgentDojo suite to Hookline, through the public plugin API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from declarations import READS, declaration, handles, previews
from hookline_hookspecs import (
    Context,
    Handle,
    Plugin,
    Question,
    Tool,
    ToolCall,
    ToolError,
    ToolOutput,
    hookimpl,
)


class Dojo(Plugin[Any]):
    """The tools of a suite on one environment; the person answers honestly.

    Attributes:
        suite: the suite, and ``env`` the environment; both are set by :func:`dojo_plugin`.
        obeying: True while the model does what an injection said.
        done: the calls that were carried out, with the value of ``obeying``.
        asked: the questions, likewise.
    """

    suite: Any
    env: Any
    obeying = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.done: list[tuple[FunctionCall, bool]] = []
        self.asked: list[tuple[Question, bool]] = []

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register every tool of the suite as it is declared."""
        runtime = FunctionsRuntime(self.suite.tools)
        for function in self.suite.tools:
            declared = declaration(function.name)
            reads = not declared.effects or function.name in READS
            register(
                Tool(
                    function.name,
                    function.description or function.name,
                    self._runner(runtime, function.name),
                    parameters=function.parameters.model_json_schema(),
                    read_only=reads,
                    origin=declared.origin,
                    effects=(declared.effects_of if declared.changes else declared.effects) or None,
                    sinks=declared.sinks,
                    preview=self._preview,
                )
            )

    def _runner(self, runtime: FunctionsRuntime, name: str) -> Callable[..., Any]:
        async def run(ctx: Context, **arguments: Any) -> ToolOutput:
            result, error = runtime.run_function(self.env, name, arguments)
            if error is not None:
                raise ToolError(error)
            self.done.append((FunctionCall(function=name, args=arguments), self.obeying))
            return ToolOutput(tool_result_to_str(result), handles=tuple(handles(name, result)))

        return run

    def _preview(self, ctx: Context, call: ToolCall) -> dict[str, Handle]:
        return previews(self.env, call)

    @hookimpl(tryfirst=True)
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Approve what belongs to the task, deny what an injection wanted."""
        if not ctx.interactive:
            return None
        self.asked.append((question, self.obeying))
        return question.choices[-1 if self.obeying else 0]


def dojo_plugin(suite: Any, env: Any) -> type[Dojo]:
    """The plugin for a suite and an environment."""
    return type("Dojo", (Dojo,), {"suite": suite, "env": env})
