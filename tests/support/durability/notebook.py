"""A plugin whose tools append a line to ``ran.log`` each time they run."""

from pathlib import Path

from hookline_hookspecs import Plugin, Question, ToolCall, ToolResult, tool
from hookline_hookspecs.plugin import NoConfig


def ran(what: str) -> None:
    with Path("ran.log").open("a") as log:
        log.write(f"{what}\n")


class Notebook(Plugin[NoConfig]):
    @tool
    def append(self, line: str) -> str:
        """Add a line to the notebook."""
        ran(f"append {line}")
        return f"appended {line}"

    @tool(read_only=True)
    def look(self, line: str) -> str:
        """Find a line in the notebook."""
        ran(f"look {line}")
        return f"found {line}"

    @tool
    def pick(self, question: str, choices: list[str]) -> ToolResult:
        """Let the person choose."""
        ran("pick")
        call = ToolCall("", "pick", {})
        return ToolResult(call, "Asked.", data=Question(question, tuple(choices)))
