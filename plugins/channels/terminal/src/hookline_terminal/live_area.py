"""The changing rows above the input line: the growing paragraph, progress, queued messages."""

from __future__ import annotations

from hookline_markdown import GUTTER, StreamedAnswer, one_line
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .progress import TurnProgress
from .queued_messages import QueuedMessages

DIM = "class:dim"


class LiveArea:
    """The parts of the screen that change while a turn runs; each has at most ``max_rows`` rows."""

    def __init__(self, max_rows: int, *, keys: bool = True, hidden: bool = False) -> None:
        self._max_rows = max_rows
        self._hidden = hidden
        self.answer = StreamedAnswer()
        self.progress = TurnProgress(keys=keys)
        self.queued = QueuedMessages()
        self.board = ""
        """Text that a tool updates while the turn runs, such as a plan."""

    def end(self) -> None:
        """End the turn: only queued messages stay."""
        self.progress.end()
        self.board = ""

    def rows(self, width: int) -> StyleAndTextTuples:
        """Return the rows, each with its line break; none if the area is hidden."""
        if self._hidden:
            return []
        shown: StyleAndTextTuples = []
        for line in self.answer.tail_lines(width - len(GUTTER), self._max_rows):
            shown.append(("", f"{GUTTER}{line}\n"))
        for line in self.progress.thought_lines(width, self._max_rows):
            shown.append((f"{DIM} italic", f"{GUTTER}{line}\n"))
        for line in self._board_lines(width - len(GUTTER)):
            shown.append(("", f"{GUTTER}{line}\n"))
        progress_lines = self.progress.lines(width, self._max_rows)
        for line in (*progress_lines, *self.queued.lines(width)):
            shown.append((DIM, f"{line}\n"))
        return shown

    def _board_lines(self, width: int) -> list[str]:
        """Return the board, one row per line; of a long one the heading and what is not done."""
        lines = [one_line(line, width - 1) for line in self.board.split("\n") if line.strip()]
        if len(lines) <= self._max_rows:
            return lines
        undone = next((n for n, line in enumerate(lines) if n and not line.startswith("✓")), 1)
        first = max(1, min(undone, len(lines) - self._max_rows + 2))
        shown = lines[first : first + self._max_rows - 2]
        return [lines[0], *shown, f"… {len(lines) - 1 - len(shown)} more"]
