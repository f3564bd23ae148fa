"""Calls of tools as tasks (protocol 2025-11-25): of those that run only so, and of those that may.

A call is bound by ``timeout`` and lost with its connection's answer, a task by neither; so a tool
that may run as a task does, as its author says so of what takes long.

The server answers such a call with a task at once. Its state is polled, and its result fetched when
it is done. The SDK has the messages but no client for them, and reads the first answer as a result;
so the task is moved to where it does not look (:func:`keep_task`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import ToolError
from mcp_types import (
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    CancelTaskRequest,
    CancelTaskRequestParams,
    CancelTaskResult,
    GetTaskPayloadRequest,
    GetTaskPayloadRequestParams,
    GetTaskRequest,
    GetTaskRequestParams,
    GetTaskResult,
    Task,
    TaskMetadata,
)

from .servers import ServerError, ServerGone
from .tool_schema import strip_hidden

if TYPE_CHECKING:
    from .connection import Connection

MAX_TASK_SECONDS = 3600.0
"""Seconds that a task may take, and that its server is asked to keep the result."""
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.1, 30.0
DEFAULT_POLL_SECONDS = 1.0
CANCEL_TIMEOUT = 2.0
TASK_KEY = "hookline/task"


def keep_task(result: dict[str, Any]) -> None:
    """Move the task of an answer to ``_meta``, which the SDK keeps."""
    task = result.get("task")
    if isinstance(task, dict) and "content" not in result:
        meta = result.get("_meta")
        result["_meta"] = {**(meta if isinstance(meta, dict) else {}), TASK_KEY: task}
        result["content"] = []


def runs_as_task(definition: Mapping[str, Any], server: Any) -> bool:
    """Return whether a tool is called as a task: it must be, or may be and its server can."""
    support = _support(definition)
    requests = server.tasks and server.tasks.requests
    can = requests and requests.tools and requests.tools.call is not None
    return support == "required" or (support == "optional" and bool(can))


def _support(definition: Mapping[str, Any]) -> Any:
    execution = definition.get("execution")
    return execution.get("taskSupport") if isinstance(execution, Mapping) else None


async def call_as_task(
    connection: Connection, tool: str, arguments: Mapping[str, Any], caller: Any
) -> Any:
    """Call a tool as a task and return its ``CallToolResult``. A turn that is stopped cancels it.

    None if the server knows no tasks after all; it has not run the tool then.

    Raises:
        ServerGone: the server is gone, or the task takes too long.
        ToolError: the server answered with an error, or the task failed or was cancelled.
    """
    metadata = TaskMetadata(ttl=int(MAX_TASK_SECONDS * 1000))
    params = CallToolRequestParams(name=tool, arguments=dict(arguments), task=metadata)
    request = CallToolRequest(params=params)
    try:
        made = await _send(connection, tool, request, CallToolResult, caller)
    except ServerError as error:
        is_only = _support(connection.listing.tools[tool]) == "required"
        if error.code != METHOD_NOT_FOUND or is_only:
            raise
        return None
    found = (made.meta or {}).get(TASK_KEY)
    if not isinstance(found, dict):
        return made  # the server has run it at once
    try:
        task = Task.model_validate(found)
    except ValueError:
        raise ToolError(f"MCP server {connection.server.name} sent an invalid task") from None
    task_id = task.task_id
    try:
        async with asyncio.timeout(MAX_TASK_SECONDS):
            state = await _wait(connection, tool, task, caller)
    except TimeoutError:
        await _cancel(connection, task_id)
        raise ServerGone(f"its task took longer than {MAX_TASK_SECONDS:g} s") from None
    except asyncio.CancelledError:
        await asyncio.shield(_cancel(connection, task_id))
        raise
    if state.status == "cancelled":
        raise ToolError(f"MCP server {connection.server.name} cancelled the task of {tool}")
    if state.status == "failed" and state.status_message:
        why = " ".join(strip_hidden(state.status_message).split())[:500]
        raise ToolError(f"MCP server {connection.server.name}: the task of {tool} failed: {why}")
    result = GetTaskPayloadRequest(params=GetTaskPayloadRequestParams(task_id=task_id))
    return await _send(connection, tool, result, CallToolResult, caller)


async def _wait(connection: Connection, tool: str, task: Any, caller: Any) -> Any:
    """Poll a task until it is done, or needs an answer, which its result then asks for."""
    while task.status == "working":
        await asyncio.sleep(_pause(task.poll_interval))
        request = GetTaskRequest(params=GetTaskRequestParams(task_id=task.task_id))
        task = await _send(connection, tool, request, GetTaskResult, caller)
    return task


def _pause(milliseconds: int | None) -> float:
    seconds = DEFAULT_POLL_SECONDS if milliseconds is None else milliseconds / 1000
    return min(max(seconds, MIN_POLL_SECONDS), MAX_POLL_SECONDS)


async def _cancel(connection: Connection, task_id: str) -> None:
    request = CancelTaskRequest(params=CancelTaskRequestParams(task_id=task_id))
    with suppress(Exception):
        async with asyncio.timeout(CANCEL_TIMEOUT):
            await _send(connection, "cancel", request, CancelTaskResult, None)


async def _send(
    connection: Connection, about: str, request: Any, result_type: type[Any], caller: Any
) -> Any:
    async def send(client: Any) -> Any:
        return await client.session.send_request(request, result_type)

    return await connection.request(about, send, caller)
