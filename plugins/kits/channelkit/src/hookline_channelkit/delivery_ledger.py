"""Records the delivered parts of each reply, so that no confirmed part is sent again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hookline_hookspecs import Host, Reply

PREFIX = "sent:"
"""Before the id of a reply in ``host.storage.kv``."""
MAX_FINISHED = 64
"""Records of finished replies that are kept until core confirms them."""
STALE_SECONDS = 7 * 86_400.0
"""Age at which an unused record is deleted."""


@dataclass(slots=True)
class DeliveryProgress:
    """The delivered part of a reply.

    Attributes:
        sent: characters of its text that are delivered.
        files: attachments that are delivered or given up.
        in_flight: a request for the next part was made, and its result is not recorded.
        unsure: that request may have been executed.
        marked: the platform could not find out; the next attempt is marked as a possible repeat.
        began: Unix time just before the first attempt at the next part; 0 before that.
        end: the character of the text that ends the part in flight.
        ids: the platform's ids of the delivered messages, in order.
        done: the whole reply is delivered or given up.
        at: Unix time of the last change.
    """

    sent: int = 0
    files: int = 0
    in_flight: bool = False
    unsure: bool = False
    marked: bool = False
    began: float = 0.0
    end: int = 0
    ids: list[str] = field(default_factory=list)
    done: bool = False
    at: float = 0.0

    def confirm(self) -> None:
        """Record that the part in flight is delivered."""
        self.in_flight = self.unsure = self.marked = False
        self.began = 0.0


def delivery_token(*part: str | int) -> str:
    """Return 24 letters and digits that identify a part of a reply, always the same."""
    name = "\0".join(map(str, part)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()[:24]


class DeliveryLedger:
    """The progress of every reply that is being delivered, in memory and in ``host.storage.kv``.

    Memory is used first, so that a failing store does no harm while the process lives.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: OrderedDict[str, DeliveryProgress] = OrderedDict()

    async def open(self, reply: Reply) -> DeliveryProgress:
        """Return the progress of a reply; ``unsure`` if its next part may be delivered already.

        Raises ``StoreError`` if it cannot be read: then nothing may be sent.
        """
        progress = self._known.get(reply.id) if reply.id else DeliveryProgress()
        if progress is None:
            progress = _from_json(await self._host.storage.kv.get(PREFIX + reply.id))
            if not reply.repeated:
                progress.in_flight = False
            self._known[reply.id] = progress
        progress.unsure = progress.unsure or progress.in_flight
        progress.in_flight = False
        return progress

    async def begin(self, reply: Reply, progress: DeliveryProgress) -> None:
        """Record that the next request will be made. After a ``StoreError`` it must not be."""
        progress.in_flight = True
        progress.began = progress.began or self._host.now()
        try:
            await self._write(reply, progress)
        except Exception:
            progress.in_flight = False
            raise

    async def record(self, reply: Reply, progress: DeliveryProgress) -> None:
        """Record the result of a request. A failure is logged."""
        try:
            await self._write(reply, progress)
        except Exception as error:
            self._host.log.warning("cannot record what was delivered: %s", error)
        if progress.done:
            finished = [reply_id for reply_id, one in self._known.items() if one.done]
            for reply_id in finished[:-MAX_FINISHED]:  # not from core, which never confirms them
                await self.forget(reply_id)

    async def forget(self, reply_id: str) -> None:
        """Delete the record of a reply whose delivery core has confirmed."""
        if self._known.pop(reply_id, None) is not None:
            try:
                await self._host.storage.kv.delete(PREFIX + reply_id)
            except Exception as error:
                self._host.log.warning("cannot delete the record of a reply: %s", error)

    async def prune(self) -> None:
        """Delete old records of dead processes."""
        kv, oldest = self._host.storage.kv, self._host.now() - STALE_SECONDS
        for key in await kv.keys(PREFIX):
            if _from_json(await kv.get(key)).at < oldest:
                await kv.delete(key)

    async def _write(self, reply: Reply, progress: DeliveryProgress) -> None:
        if reply.id:
            progress.at = self._host.now()
            await self._host.storage.kv.set(PREFIX + reply.id, asdict(progress))


def _from_json(value: Any) -> DeliveryProgress:
    """Return the stored progress; an empty one for any other value."""
    if not isinstance(value, dict):
        return DeliveryProgress()
    names = {one.name for one in fields(DeliveryProgress)}
    return DeliveryProgress(**{name: item for name, item in value.items() if name in names})
