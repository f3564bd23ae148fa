"""Permissions that the bot lacks: told once, and kept for ``hookline doctor``."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Host

from .complaints import Complaints
from .errors import Refused

KEY = "refused"
"""Where the sentences are, with their times, in the plugin's key-value storage."""
MOST = 16
"""Sentences that are kept."""
STALE = 86_400.0
"""Seconds after which a sentence that was not told again is not shown any more."""


class Refusals:
    """What the platform has refused for want of a permission."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._complaints = Complaints(host.log)

    async def tell(self, error: Refused) -> None:
        """Tell of it once in this process, and keep it."""
        if not self._complaints.tell(f"not allowed: {error}"):
            return
        try:
            kept = dict(await self._host.storage.kv.get(KEY, {}))
            kept[str(error)] = self._host.now()
            newest = sorted(kept.items(), key=lambda one: one[1])[-MOST:]
            await self._host.storage.kv.set(KEY, dict(newest))
        except Exception as failure:
            self._host.log.warning("a refusal cannot be kept for the doctor: %s", failure)

    async def recent(self) -> Sequence[str]:
        """The sentences of the last day."""
        kept: dict[str, float] = await self._host.storage.kv.get(KEY, {})
        return [told for told, at in kept.items() if at > self._host.now() - STALE]
