"""The events of a run, collected from its JSON lines."""

from __future__ import annotations

from dataclasses import dataclass, field

from .process import Line

DENIED = "Denied: "
"""The start of a refused call's result."""
NO_TOOL = "Error: unknown tool "
TOOL_GONE = " is no longer available"


@dataclass
class RunRecord:
    """The lines of one run by type; unknown ones are ignored."""

    calls: list[Line] = field(default_factory=list)
    results: list[Line] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    result: Line = field(default_factory=dict)
    turns: int = 0
    responses: int = 0
    _answering: bool = False

    def add(self, line: Line) -> None:
        """Record a line. Words and calls without a result between them count as one response."""
        kind = line.get("type")
        if kind == "start":
            self.turns += 1
        elif kind in ("delta", "tool_call"):
            self.responses += not self._answering
            if kind == "tool_call":
                self.calls.append(line)
        elif kind == "tool_result":
            self.results.append(line)
        elif kind == "error":
            self.errors.append(str(line.get("text", "")))
        elif kind == "question":
            self.questions.append(str(line.get("text", "")))
        elif kind == "notice":
            self.notices.append(str(line.get("text", "")))
        elif kind == "result":
            self.result = line
        self._answering = kind in ("delta", "tool_call") or (self._answering and kind == "notice")

    @property
    def reply(self) -> str:
        """The final answer; empty if there is none."""
        return str(self.result.get("text") or "") if self.result.get("stop") == "done" else ""

    @property
    def refusals(self) -> list[str]:
        """The reasons of the calls that were refused."""
        texts = [str(line.get("text", "")) for line in self.results]
        return [text.removeprefix(DENIED) for text in texts if text.startswith(DENIED)]

    @property
    def missing_tools(self) -> list[str]:
        """Names of tools that the model called and that do not exist."""
        return [
            str(line.get("name"))
            for line in self.results
            if str(line.get("text", "")).startswith(NO_TOOL)
            or str(line.get("text", "")).endswith(TOOL_GONE)
        ]

    def usage(self, name: str) -> int:
        """Tokens of this kind (``input``, ``cache_read``, ``output``, …); 0 if unknown."""
        usage = self.result.get("usage")
        value = usage.get(name) if isinstance(usage, dict) else None
        return value if isinstance(value, int) else 0
