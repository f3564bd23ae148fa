from hookline_hookspecs import Context, Plugin, Turn, hookimpl


class Statistics(Plugin):
    """Counts turns by how they ended."""

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        count = await self.host.storage.kv.get(turn.stop, 0)
        await self.host.storage.kv.set(turn.stop, count + 1)
