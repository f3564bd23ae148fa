"""The tool calls of a turn that were refused, for ``--fail-on-deny`` and the JSON result."""

from __future__ import annotations

from collections import Counter

from hookline_hookspecs import Context, Host, ToolResult

REFUSAL = "Denied: "
"""How the result of a refused call begins."""


class RefusedCalls:
    """Follows the results of the turn and its sub-agents, not those of reviews."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """The refused tools, one for each call, in order."""

    def connect(self, host: Host) -> None:
        """Start to follow results."""
        host.signals.connect("post_tool", self._result)

    def _result(self, event: ToolResult, ctx: Context) -> None:
        if ctx.session.kind != "review" and is_refused(event):
            self.names.append(event.call.name)

    def sentence(self) -> str:
        """What was refused, for people."""
        counts = Counter(self.names)
        tools = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in counts.items())
        if len(self.names) == 1:
            return f"1 call was refused ({tools}). Allow it with a rule, or use --yes."
        count = len(self.names)
        return f"{count} calls were refused ({tools}). Allow them with rules, or use --yes."


def is_refused(result: ToolResult) -> bool:
    """Whether a guard or a person refused the call."""
    return not result.ok and result.text.startswith(REFUSAL)
