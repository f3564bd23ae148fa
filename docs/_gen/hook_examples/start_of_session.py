from hookline_hookspecs import Context, Plugin, Session, hookimpl


class Welcome(Plugin):
    """Greets people at the beginning of a new session."""

    @hookimpl
    def start_of_session(self, ctx: Context, session: Session) -> None:
        if not session.resumed:
            ctx.notify("Welcome! /help lists the commands.")
