from datetime import datetime

from hookline_hookspecs import Context, ContextBlock, Plugin, Turn, hookimpl


class Clock(Plugin):
    """Tells the model the time of each message."""

    @hookimpl
    def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock:
        now = datetime.fromtimestamp(self.host.now()).astimezone()
        return ContextBlock("time", f"{now:%Y-%m-%d %H:%M %Z}")
