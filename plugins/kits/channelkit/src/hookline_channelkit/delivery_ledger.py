"""What has been delivered of each reply, recorded so that no confirmed part is ever sent again."""

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
"""Age at which a record is deleted that nobody asked for."""


@dataclass(slots=True)
class DeliveryProgress:
    """How much of a reply is delivered.

    Attributes:
        sent: characters of its text that are delivered.
        files: attachments that are delivered or given up.
        in_flight: a request for the next part was made, and its result is not recorded.
        unsure: that request may have been carried out.
        marked: the platform could not tell whether it was; the next attempt is marked as a possible
            repeat.
        began: Unix time just before the first attempt at the next part; 0 before that.
        end: the character of the text that ends the part in flight.
        ids: the platform's ids of the delivered messages, in order.
        done: all of it is delivered, or given up.
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
        """The part in flight is delivered."""
        self.in_flight = self.unsure = self.marked = False
        self.began = 0.0


def delivery_token(*part: str | int) -> str:
    """24 letters and digits that identify a part of a reply, always the same."""
    name = "\0".join(map(str, part)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()[:24]


class DeliveryLedger:
    """The progress of every reply that is being delivered, in memory and in ``host.storage.kv``.

    Memory comes first: while the process lives, a store that cannot write does no harm.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: OrderedDict[str, DeliveryProgress] = OrderedDict()

    async def open(self, reply: Reply) -> DeliveryProgress:
        """The progress of a reply; ``unsure`` if its next part may be delivered already.

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
        """Record that the next request is about to be made. Raises ``StoreError``: then it must not
        be made."""
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
            for reply_id in finished[:-MAX_FINISHED]:  # core did not post them, and never confirms
                await self.forget(reply_id)

    async def forget(self, reply_id: str) -> None:
        """Core has confirmed that the reply is delivered."""
        if self._known.pop(reply_id, None) is not None:
            try:
                await self._host.storage.kv.delete(PREFIX + reply_id)
            except Exception as error:
                self._host.log.warning("cannot delete the record of a reply: %s", error)

    async def prune(self) -> None:
        """Delete old records of processes that died."""
        kv, oldest = self._host.storage.kv, self._host.now() - STALE_SECONDS
        for key in await kv.keys(PREFIX):
            if _from_json(await kv.get(key)).at < oldest:
                await kv.delete(key)

    async def _write(self, reply: Reply, progress: DeliveryProgress) -> None:
        if reply.id:
            progress.at = self._host.now()
            await self._host.storage.kv.set(PREFIX + reply.id, asdict(progress))


def _from_json(value: Any) -> DeliveryProgress:
    """The stored progress; an empty one for anything else."""
    if not isinstance(value, dict):
        return DeliveryProgress()
    names = {one.name for one in fields(DeliveryProgress)}
    return DeliveryProgress(**{name: item for name, item in value.items() if name in names})
