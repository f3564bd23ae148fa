"""What has been delivered of each reply, kept so that no confirmed part is ever sent again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hookline_hookspecs import Host, Reply

PREFIX = "sent:"
"""Before a reply's id in the plugin's key-value storage."""
KEPT = 64
"""Records of delivered replies that are kept until core says that it knows."""
STALE = 7 * 86_400.0
"""Seconds after which a record that nobody asked for is removed."""


@dataclass(slots=True)
class Progress:
    """How far a reply has come.

    Attributes:
        sent: characters of its text that are delivered.
        files: attachments that are delivered or given up.
        begun: a request for the next part has gone out and was not answered by an error.
        unsure: that request may have been carried out.
        marked: the platform could not tell whether it was; the next attempt is marked.
        began: Unix time just before the first attempt at the next part, 0 before that.
        end: characters of the text that the next part goes to, while it is under way.
        ids: the platform's ids of the messages that are delivered, in order.
        done: all of it.
        at: Unix time of the last change.
    """

    sent: int = 0
    files: int = 0
    begun: bool = False
    unsure: bool = False
    marked: bool = False
    began: float = 0.0
    end: int = 0
    ids: list[str] = field(default_factory=list)
    done: bool = False
    at: float = 0.0

    def confirm(self) -> None:
        """The part under way is delivered."""
        self.begun = self.unsure = self.marked = False
        self.began = 0.0


def token_of(*part: str | int) -> str:
    """24 letters and digits that stand for a part of a reply, always the same."""
    name = "\0".join(map(str, part)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()[:24]


class Ledger:
    """The progress of every reply under way, in memory and in ``host.storage.kv``.

    Memory leads: while the process lives, a store that cannot write does no harm.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: OrderedDict[str, Progress] = OrderedDict()

    async def open(self, reply: Reply) -> Progress:
        """The progress of a reply; ``unsure`` if its next part may be delivered already.

        Raises ``StoreError`` where it cannot be read: then nothing may be sent.
        """
        found = self._known.get(reply.id) if reply.id else Progress()
        if found is None:
            stored = await self._host.storage.kv.get(PREFIX + reply.id)
            found = _from_json(stored)
            if not getattr(reply, "repeated", False):
                found.begun = False
            self._known[reply.id] = found
        found.unsure = found.unsure or found.begun
        found.begun = False
        return found

    async def begin(self, reply: Reply, progress: Progress) -> None:
        """The next request goes out now. Raises ``StoreError``: then it must not."""
        progress.begun = True
        progress.began = progress.began or self._host.now()
        try:
            await self._write(reply, progress)
        except Exception:
            progress.begun = False
            raise

    async def record(self, reply: Reply, progress: Progress) -> None:
        """Keep what has become of the request. A failure is logged: memory knows."""
        try:
            await self._write(reply, progress)
        except Exception as error:
            self._host.log.warning("what was delivered cannot be recorded: %s", error)
        if progress.done:
            await self._bound()

    async def forget(self, reply_id: str) -> None:
        """Core knows that the reply is delivered."""
        if self._known.pop(reply_id, None) is not None:
            await self._delete(reply_id)

    async def prune(self) -> None:
        """Remove what processes left that died at the wrong moment."""
        kv, oldest = self._host.storage.kv, self._host.now() - STALE
        for key in await kv.keys(PREFIX):
            if _from_json(await kv.get(key)).at < oldest:
                await kv.delete(key)

    async def _write(self, reply: Reply, progress: Progress) -> None:
        if reply.id:
            progress.at = self._host.now()
            await self._host.storage.kv.set(PREFIX + reply.id, asdict(progress))

    async def _bound(self) -> None:
        """Forget the oldest delivered replies of which core says nothing (it did not post them)."""
        done = [reply_id for reply_id, one in self._known.items() if one.done]
        for reply_id in done[:-KEPT]:
            await self.forget(reply_id)

    async def _delete(self, reply_id: str) -> None:
        try:
            await self._host.storage.kv.delete(PREFIX + reply_id)
        except Exception as error:
            self._host.log.warning("a record of a delivered reply cannot be removed: %s", error)


def _from_json(value: Any) -> Progress:
    """The stored progress; an empty one for anything else."""
    if not isinstance(value, dict):
        return Progress()
    names = {one.name for one in fields(Progress)}
    return Progress(**{name: item for name, item in value.items() if name in names})
