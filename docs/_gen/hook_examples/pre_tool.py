from hookline_hookspecs import Ask, Context, Deny, Plugin, ToolCall, hookimpl


class Payments(Plugin):
    """Asks about payments, and refuses large ones."""

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | Ask | None:
        if call.name != "pay":
            return None
        euros = float(call.arguments.get("euros", 0))
        if euros > 1000:
            return Deny("more than 1000 euros are not paid")
        return Ask("it pays money", preview=f"{euros:.2f} euros")
