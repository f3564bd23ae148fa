from dataclasses import replace

from hookline_hookspecs import Context, Plugin, WireRequest, hookimpl


class Labels(Plugin):
    """Labels requests for the provider's bill; only for providers that know the field."""

    @hookimpl
    def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest:
        return replace(wire, fields={**wire.fields, "user": ctx.session.chat_id})
