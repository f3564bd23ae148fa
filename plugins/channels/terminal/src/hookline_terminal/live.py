"""What stands above the input line for now: the growing paragraph, what goes on, what waits."""

from __future__ import annotations

from hookline_markdown import Answer, one_line
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
        self.board = ""
        """What a tool keeps up to date while the turn runs, such as a plan."""

    def end(self) -> None:
        """The turn is over."""
        self.progress.end()
        self.board = ""

    def rows(self, width: int) -> StyleAndTextTuples:
        """The rows, each with its line break."""
        most, progress = self._most, self.progress
        shown: StyleAndTextTuples = []
        for line in self.answer.tail_lines(width, most):
            shown.append(("", f"{line}\n"))
        for line in progress.thought_lines(width, most):
            shown.append((f"{DIM} italic", f"  {line}\n"))
        for line in self._board_lines(width):
            shown.append(("", f"{line}\n"))
        for line in (*progress.lines(width, most), *self.queued.lines(width)):
            shown.append((DIM, f"{line}\n"))
        return shown

    def _board_lines(self, width: int) -> list[str]:
        """The board, a row for each of its lines; of a long one the head and what follows the
        done part."""
        lines = [one_line(line, width - 1) for line in self.board.split("\n") if line.strip()]
        if len(lines) <= self._most:
            return lines
        left = next((n for n, line in enumerate(lines) if n and not line.startswith("✓")), 1)
        first = max(1, min(left, len(lines) - self._most + 2))
        kept = lines[first : first + self._most - 2]
        return [lines[0], *kept, f"… {len(lines) - 1 - len(kept)} more"]
