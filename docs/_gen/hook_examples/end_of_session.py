from hookline_hookspecs import Context, Plugin, Session, hookimpl


class Farewell(Plugin):
    """Keeps how many messages an ended session had."""

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        messages = await self.host.messages(session.id)
        await self.host.storage.kv.set(f"messages/{session.id}", len(messages))
