import asyncio

from hookline_hookspecs import Host, Plugin, hookimpl


class Watcher(Plugin):
    """Runs a program for as long as the process lives."""

    process: asyncio.subprocess.Process

    @hookimpl
    async def setup(self, host: Host) -> None:
        self.process = await asyncio.create_subprocess_exec("sleep", "3600")

    @hookimpl
    async def teardown(self, host: Host) -> None:
        self.process.terminate()
        await self.process.wait()
