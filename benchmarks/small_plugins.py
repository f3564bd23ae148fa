"""Small plugins as a package installer would leave them: a module and a ``dist-info`` folder."""

from __future__ import annotations

from pathlib import Path

MODULE = '''
from hookline_hookspecs import Context, Plugin, ToolCall, Turn, Verdict, command, hookimpl, tool
from pydantic import BaseModel, Field


class Config(BaseModel):
    greeting: str = "Hello"
    limit: int = Field(default=3, ge=1, description="How many.")
    names: list[str] = []


class Small(Plugin[Config]):
    @tool(read_only=True)
    def {name}(self, person: str, times: int = 1) -> str:
        """Greet a person."""
        return self.config.greeting * times

    @command("/{name}")
    def show(self, ctx: Context, args: str) -> str:
        """Show the greeting."""
        return self.config.greeting

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Verdict | None:
        return None

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Nothing."""
'''
"""A plugin of the usual size: settings, a tool, a command, a ``def`` hook and an ``async`` one."""
METADATA = "Metadata-Version: 2.1\nName: hookline-{name}\nVersion: 1.0\nSummary: A small plugin.\n"
ENTRY = "[hookline.plugins]\n{name} = hookline_{name}:Small\n"


def install(site: Path, count: int) -> None:
    """Write the plugins ``small000``, ``small001``, … into a folder for ``PYTHONPATH``."""
    for number in range(count):
        name = f"small{number:03}"
        info = site / f"hookline_{name}-1.0.dist-info"
        info.mkdir()
        (site / f"hookline_{name}.py").write_text(MODULE.format(name=name), "utf-8")
        (info / "METADATA").write_text(METADATA.format(name=name), "utf-8")
        (info / "entry_points.txt").write_text(ENTRY.format(name=name), "utf-8")
