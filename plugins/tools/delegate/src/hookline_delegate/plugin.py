"""The tool ``delegate``: checks a task, records it, and gives it to a sub-agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Annotated

from hookline_hookspecs import (
    Content,
    Context,
    Host,
    ModelRequest,
    Plugin,
    ToolError,
    ToolOutput,
    Turn,
    command,
    hookimpl,
    merge_origins,
    tool,
)
from hookline_hookspecs.named_agents import AgentSource
from pydantic import BaseModel, Field

from .named_agents import find_agent, limit_tools, named_agents
from .report import failure, prompt, report
from .sub_agent import SubAgent, new_session_id, task_key, task_line

SEMAPHORE_KEY = "semaphore"
"""Key in the turn's stash: the semaphore that limits its sub-agents."""
OPEN_TASKS_KEY = "open"
"""Key in the turn's stash: the records of its running tasks."""


class DelegateConfig(BaseModel):
    """Limits of sub-agents."""

    parallel: int = Field(
        default=3,
        ge=1,
        le=16,
        title="Sub-agents at a time",
        description="Maximum sub-agents at a time in one turn.",
    )
    max_iterations: int = Field(
        default=30,
        ge=1,
        le=1000,
        title="Model calls per sub-agent",
        description="Maximum model calls of one sub-agent.",
    )
    timeout: float = Field(
        default=900.0,
        gt=0,
        title="Sub-agent timeout (seconds)",
        description="Maximum seconds for one sub-agent.",
    )


class Delegate(Plugin[DelegateConfig]):
    """The tool ``delegate``."""

    def __init__(self, config: DelegateConfig, host: Host) -> None:
        super().__init__(config, host)
        self._agents: dict[str, SubAgent] = {}
        self._tasks: set[str] = set()

    def _hidden_arguments(self) -> Sequence[str]:
        return () if self.host.services.all(AgentSource) and named_agents(self.host) else ("agent",)

    # Read-only, because core runs only such calls concurrently, and again once a parked or
    # interrupted turn is resumed; `_recorded` finds the sub-agent that then continues.
    @tool(read_only=True, main_only=True, origin="workspace", hidden=_hidden_arguments)
    async def delegate(
        self,
        ctx: Context,
        task: Annotated[str, Content()],
        context: Annotated[str | None, Content()] = None,
        tools: list[str] | None = None,
        agent: str | None = None,
    ) -> ToolOutput:
        """Give a task to a sub-agent that knows only task and context; returns its report. Several
        in one response run in parallel.

        Args:
            tools: the only tools it may use
        """
        if not task.strip():
            raise ToolError("the task is blank; write what the sub-agent is to do and report")
        named = find_agent(self.host, agent)
        allowed = limit_tools(self._allowed_tools(tools), named)
        limit = self.config.max_iterations
        if named is not None and named.max_iterations is not None:
            limit = min(limit, named.max_iterations)
        key = task_key(ctx.turn.id, task, context, tools, agent)
        async with self._semaphore(ctx), self._recorded(ctx, key) as session_id:
            sub_agent = SubAgent(allowed, limit, session_id, named)
            sub_agent.task, sub_agent.chat = task, ctx.session.id
            sub_agent.started = self.host.now()
            self._agents[session_id] = sub_agent
            try:
                message = prompt(task, context)
                turn = await sub_agent.run(self.host, ctx, message, self.config.timeout)
            finally:
                del self._agents[session_id]
        return _result(turn, sub_agent)

    def _allowed_tools(self, requested: Sequence[str] | None) -> frozenset[str]:
        """Return the tools a sub-agent may use. Raises ``ToolError`` for a name that is not one of
        them."""
        offered = {tool.name for tool in self.host.tools() if not tool.main_only}
        unknown = [name for name in requested or () if name not in offered]
        if unknown:
            raise ToolError(
                f"a sub-agent has no tool {', '.join(unknown)}; it can have: "
                f"{', '.join(sorted(offered)) or 'none'}"
            )
        return frozenset(offered if requested is None else requested)

    def _semaphore(self, ctx: Context) -> asyncio.Semaphore:
        """Return the semaphore that limits the turn's sub-agents."""
        new = asyncio.Semaphore(self.config.parallel)
        semaphore: asyncio.Semaphore = ctx.stash.setdefault(SEMAPHORE_KEY, new)
        return semaphore

    @asynccontextmanager
    async def _recorded(self, ctx: Context, key: str) -> AsyncIterator[str]:
        """Store a record of the task until it is done; yields the id of the sub-agent's session.

        The record of a parked task stays until its turn is resumed, and that of a cancelled one
        until its turn ends.
        """
        if key in self._tasks:
            raise ToolError("a sub-agent is already working on this task; wait for its report")
        self._tasks.add(key)
        records = self.host.storage.kv
        try:
            session_id = str(await records.get(key, "")) or new_session_id()
            await records.set(key, session_id)
            ctx.stash.setdefault(OPEN_TASKS_KEY, []).append(key)
            try:
                yield session_id
            except Exception:
                await records.delete(key)
                raise
            await records.delete(key)
        finally:
            self._tasks.discard(key)

    @command("/tasks", audience="admins", immediate=True, category="Conversation")
    def tasks(self, ctx: Context, _args: str) -> str:
        """List the running sub-agents and their tasks."""
        running = [one for one in self._agents.values() if one.chat == ctx.session.id]
        if not running:
            return "No sub-agents are running. /jobs lists background jobs."
        return "\n".join(task_line(one, self.host.now()) for one in running)

    @hookimpl(trylast=True)
    def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Restrict a sub-agent to its tools; last, so after every plugin that adds some.

        Its last model call asks for an answer without tools; one more ends it.
        """
        agent = self._agents.get(ctx.session.id)
        if agent is None or request.purpose != "turn":
            return None
        if ctx.turn.iterations >= agent.limit:
            agent.end(f"because it used all of its {agent.limit} model calls")
        tools = tuple(schema for schema in request.tools if schema.name in agent.tools)
        params = dict(request.params)
        if ctx.turn.iterations == agent.limit - 1:
            params["tool_choice"] = "none"
        if len(tools) == len(request.tools) and params == request.params:
            return None
        return replace(request, tools=tools, params=params)

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Delete the records of tasks that were stopped with the turn."""
        for key in ctx.stash.get(OPEN_TASKS_KEY, ()):
            await self.host.storage.kv.delete(key)


def _result(turn: Turn, agent: SubAgent) -> ToolOutput:
    """Return the report of a turn. Raises ``ToolError`` if there is none."""
    reason = failure(turn)
    if reason:
        raise ToolError(reason)
    data = {"session": turn.session.id, "usage": asdict(turn.usage)}
    read = merge_origins(*[message.origins for message in turn.messages])
    result = ToolOutput(report(turn.reply), data=data, origins=read)
    if turn.iterations < agent.limit:
        return result
    note = f"it used all of its {agent.limit} model calls; the work may be unfinished"
    return replace(result, notes=(note,))
