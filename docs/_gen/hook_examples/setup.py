from hookline_hookspecs import Host, Plugin, hookimpl


class Visits(Plugin):
    """Counts how often Hookline was started."""

    starts = 0

    @hookimpl
    async def setup(self, host: Host) -> None:
        self.starts = await host.storage.kv.get("starts", 0) + 1
        await host.storage.kv.set("starts", self.starts)
