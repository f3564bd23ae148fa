"""What stands above the input line for now: the growing paragraph, what goes on, what waits."""

from __future__ import annotations

from hookline_markdown import Answer
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .progress import Progress
from .queued import Queued

DIM = "fg:ansibrightblack"


class Live:
    """The parts that change until they are written for good, or go."""

    def __init__(self, most: int) -> None:
        self._most = most
        """Rows of each part at most."""
        self.answer = Answer()
        self.progress = Progress()
        self.queued = Queued()

    def rows(self, width: int) -> StyleAndTextTuples:
        """The rows, each with its line break."""
        most, progress = self._most, self.progress
        shown: StyleAndTextTuples = []
        for line in self.answer.tail_lines(width, most):
            shown.append(("", f"{line}\n"))
        for line in progress.thought_lines(width, most):
            shown.append((f"{DIM} italic", f"  {line}\n"))
        for line in (*progress.lines(width, most), *self.queued.lines(width)):
            shown.append((DIM, f"{line}\n"))
        return shown
