from dataclasses import replace

from hookline_hookspecs import Context, Plugin, ToolResult, hookimpl


class Hints(Plugin):
    """Adds a note to failed calls."""

    @hookimpl
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        if result.ok:
            return None
        return replace(result, notes=(*result.notes, "Do not repeat the same call."))
