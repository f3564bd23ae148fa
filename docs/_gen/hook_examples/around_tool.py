import asyncio
from collections.abc import Awaitable, Callable

from hookline_hookspecs import Context, Plugin, ToolCall, ToolResult, hookimpl

CallTool = Callable[[ToolCall], Awaitable[ToolResult]]
Middleware = Callable[[ToolCall, CallTool], Awaitable[ToolResult]]


class Retry(Plugin):
    """Repeats a call that only reads, once, if it failed."""

    @hookimpl
    def around_tool(self, ctx: Context, call: ToolCall) -> Middleware | None:
        if ctx.tool is None or not ctx.tool.read_only:
            return None

        async def twice(call: ToolCall, call_next: CallTool) -> ToolResult:
            result = await call_next(call)
            if not result.ok:
                await asyncio.sleep(0.1)
                result = await call_next(call)
            return result

        return twice
