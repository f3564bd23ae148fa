from collections.abc import Callable

from hookline_hookspecs import Job, Plugin, hookimpl


class Backups(Plugin):
    """Writes down every night that it ran; a real one would copy something."""

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        register(Job("nightly", self.back_up, at="03:30"))

    async def back_up(self) -> None:
        """Run once a day, by the plugin ``jobs``."""
        await self.host.storage.kv.set("last", self.host.now())
