"""What goes wrong again and again is told once."""

from __future__ import annotations

import logging
from collections import OrderedDict

MOST = 64
"""Different sentences that are remembered."""


class Complaints:
    """Tells each sentence once, until :meth:`over`.

    Args:
        log: where.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._told: OrderedDict[str, None] = OrderedDict()

    def tell(self, sentence: str) -> bool:
        """Log a warning, unless that was told already; True if it was new."""
        is_new = sentence not in self._told
        self._told[sentence] = None
        while len(self._told) > MOST:
            self._told.popitem(last=False)
        if is_new:
            self._log.warning("%s", sentence)
        return is_new

    def over(self, sentence: str = "") -> None:
        """All is well again, which is told if something was not."""
        if self._told and sentence:
            self._log.warning("%s", sentence)
        self._told.clear()
