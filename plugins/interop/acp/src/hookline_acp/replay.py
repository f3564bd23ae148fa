"""Converts a stored conversation to updates: text, thoughts, and calls with their changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from acp import schema
from hookline_hookspecs import (
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResult,
    ToolResultBlock,
)

from . import call_updates

NO_RESULT = "Interrupted: no result."


def replay_updates(messages: Iterable[Message], workspace: Path) -> Iterator[Any]:
    """Yield the updates that show ``messages``, oldest first; the last plan comes last."""
    waiting: dict[str, tuple[str, ToolCall]] = {}
    plan: Any = None
    for number, message in enumerate(messages, 1):
        message_id = f"stored-{number}"
        for block in message.blocks:
            if isinstance(block, ToolCall):
                plan = call_updates.plan_update(block) or plan
                call_id = f"{message_id}.{block.id}"
                waiting[block.id] = (call_id, block)
                yield call_updates.start_update(call_id, block, workspace)
            elif isinstance(block, ToolResultBlock):
                if block.call_id in waiting:
                    yield _result(*waiting.pop(block.call_id), block, workspace)
            elif (update := _chunk(message, message_id, block)) is not None:
                yield update
    for call_id, _ in waiting.values():
        update = call_updates.status_update(call_id, "failed")
        update.content = [call_updates.text_content(NO_RESULT)]
        yield update
    if plan is not None:
        yield plan


def _result(
    call_id: str, call: ToolCall, block: ToolResultBlock, workspace: Path
) -> schema.ToolCallProgress:
    result = ToolResult(call, block.text, block.ok, images=block.images)
    update = call_updates.result_update(call_id, result, workspace)
    if block.ok and (changes := call_updates.diffs_from_arguments(call, workspace)):
        update.content = list(changes)
    return update


def _chunk(message: Message, message_id: str, block: Any) -> Any:
    content: Any
    if isinstance(block, ImageBlock):
        content = schema.ImageContentBlock(type="image", data=block.data, mime_type=block.mime)
    elif isinstance(block, (TextBlock, ThinkingBlock)) and block.text:
        content = schema.TextContentBlock(type="text", text=block.text)
    else:
        return None
    fields: dict[str, Any] = {"content": content, "message_id": message_id}
    if isinstance(block, ThinkingBlock):
        return schema.AgentThoughtChunk(session_update="agent_thought_chunk", **fields)
    if message.role == "assistant":
        return schema.AgentMessageChunk(session_update="agent_message_chunk", **fields)
    return schema.UserMessageChunk(session_update="user_message_chunk", **fields)
