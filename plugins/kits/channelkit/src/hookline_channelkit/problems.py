"""Reports repeated problems once; stores missing permissions for ``hookline doctor``."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence

from hookline_hookspecs import Host

from .errors import PermissionDenied

MAX_LOGGED_SENTENCES = 64
"""Maximum sentences that :class:`LogOnce` remembers."""
PERMISSIONS_KEY = "permission_problems"
"""Key in ``host.storage.kv`` of the sentences and their times."""
MAX_PERMISSION_PROBLEMS = 16
PERMISSION_PROBLEM_SECONDS = 86_400.0
"""Seconds after which a problem that has not occurred again is no longer shown."""


class LogOnce:
    """Logs each sentence once, until :meth:`resolved`.

    Args:
        log: the logger.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._logged: OrderedDict[str, None] = OrderedDict()

    def warn(self, sentence: str) -> bool:
        """Log a warning, unless it was logged already. Returns True if it was new."""
        is_new = sentence not in self._logged
        self._logged[sentence] = None
        while len(self._logged) > MAX_LOGGED_SENTENCES:
            self._logged.popitem(last=False)
        if is_new:
            self._log.warning("%s", sentence)
        return is_new

    def resolved(self, sentence: str = "") -> None:
        """Forget all warnings. If there were any, log ``sentence``."""
        if self._logged and sentence:
            self._log.warning("%s", sentence)
        self._logged.clear()


class PermissionProblems:
    """Missing permissions for which the platform has refused requests."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._log_once = LogOnce(host.log)

    async def report(self, error: PermissionDenied) -> None:
        """Log a problem once per process, and store it."""
        if not self._log_once.warn(f"permission denied: {error}"):
            return
        try:
            stored = dict(await self._host.storage.kv.get(PERMISSIONS_KEY, {}))
            stored[str(error)] = self._host.now()
            newest = sorted(stored.items(), key=lambda item: item[1])[-MAX_PERMISSION_PROBLEMS:]
            await self._host.storage.kv.set(PERMISSIONS_KEY, dict(newest))
        except Exception as failure:
            self._host.log.warning("cannot store a permission problem: %s", failure)

    async def recent(self) -> Sequence[str]:
        """Return the sentences of the last day."""
        stored: dict[str, float] = await self._host.storage.kv.get(PERMISSIONS_KEY, {})
        oldest = self._host.now() - PERMISSION_PROBLEM_SECONDS
        return [sentence for sentence, at in stored.items() if at > oldest]
