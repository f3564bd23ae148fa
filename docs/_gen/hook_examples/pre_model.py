from dataclasses import replace

from hookline_hookspecs import Context, ModelRequest, Plugin, hookimpl


class Calm(Plugin):
    """Sets the temperature of every request."""

    @hookimpl
    def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest:
        return replace(request, params={**request.params, "temperature": 0.2})
