from hookline_hookspecs import Context, Failure, Plugin, hookimpl


class Outages(Plugin):
    """Tells people whom to ask when a turn fails."""

    @hookimpl
    def on_error(self, ctx: Context, error: Failure) -> None:
        if error.kind in ("network", "overloaded", "rate"):
            ctx.notify("The model cannot be reached. Try again in a few minutes.")
