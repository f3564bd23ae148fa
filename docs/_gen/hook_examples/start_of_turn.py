from hookline_hookspecs import Context, Deny, Plugin, ToolCall, Turn, hookimpl


class Quota(Plugin):
    """Allows five tool calls in a turn."""

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        ctx.stash["left"] = 5

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        ctx.stash["left"] -= 1
        return Deny("five tool calls are enough") if ctx.stash["left"] < 0 else None
