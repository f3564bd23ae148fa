from hookline_hookspecs import Context, ModelResponse, Plugin, hookimpl


class Meter(Plugin):
    """Says when a response was long."""

    @hookimpl
    def post_model(self, ctx: Context, response: ModelResponse) -> None:
        if len(response.text) > 4000:
            ctx.notify(f"This answer has {len(response.text)} characters.")
