from dataclasses import replace

from hookline_hookspecs import Context, Plugin, Reply, hookimpl


class Footer(Plugin):
    """Adds a line to every answer. It removes nothing, so replies are still streamed."""

    preserves_streaming = True

    @hookimpl
    def pre_reply(self, ctx: Context, reply: Reply) -> Reply | None:
        if reply.kind != "answer":
            return None
        return replace(reply, text=f"{reply.text}\n\nWritten by a program.")
