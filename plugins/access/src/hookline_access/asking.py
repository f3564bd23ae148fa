"""Questions put to admins in their own chats, and the answers that come back as messages.

A question is shown by the channel itself, not through the outbox: it ends with the process, and
nobody is to see it again after a restart.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from hookline_hookspecs import Host, Inbound, Reply, Session, message_ids

from .chats import Chat
from .codes import QUESTION, new_code
from .wording import CHOICES, LET_IN, meant, meant_at_door

SHOWN = 256
"""Messages with buttons that are remembered."""
TRIES = 3
"""Attempts to show something, a second and then two apart."""
_WITH_CODE = re.compile(r"(?:/(approve|deny)\s+)?([A-Za-z0-9]{5})(?:\s+(.{1,40}))?", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class Open:
    """A question that waits for an admin."""

    code: str
    choices: Sequence[str]
    answer: asyncio.Future[str] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, choice: str) -> bool:
        """Answer it; False if somebody has already."""
        if self.answer.done():
            return False
        self.answer.set_result(choice)
        return True


class Desk:
    """What is open with the admins, and where it was shown."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open: dict[str, Open] = {}
        self._shown: OrderedDict[tuple[Chat, str], str] = OrderedDict()
        """The command that a choice is put behind, by chat and the platform's id of a message."""

    @contextmanager
    def opened(self, choices: Sequence[str]) -> Iterator[Open]:
        """A new question with these choices that is open while the block runs."""
        while (code := new_code(QUESTION)) in self._open:
            pass
        made = self._open[code] = Open(code, choices)
        try:
            yield made
        finally:
            del self._open[code]
            made.answer.cancel()

    def find(self, code: str) -> Open | None:
        """The open question with this code, in any letter case."""
        return self._open.get(code.upper())

    async def show(
        self, chat: Chat, text: str, choices: Sequence[str] = (), command: str = ""
    ) -> bool:
        """Write into a chat, with buttons where its channel has some; False if it did not work.

        ``command`` is what a press of a button becomes, with the choice behind it.
        """
        channel = next((one for one in self._host.channels() if one.name == chat[0]), None)
        if channel is None:
            return False
        session = Session("", *chat, None, self._host.now(), kind="none")
        reply = Reply(session, text, id=f"access-{uuid4().hex}", choices=tuple(choices))
        for attempt in range(TRIES):
            await asyncio.sleep(attempt)
            try:
                ids = message_ids(await channel.send(reply))
            except Exception as error:
                self._host.log.warning("channel %s: %s", chat[0], error)
                continue
            if choices:
                self._shown.update({(chat, id_): command for id_ in ids})
                while len(self._shown) > SHOWN:
                    self._shown.popitem(last=False)
            return True
        return False

    def command_of(self, inbound: Inbound) -> str | None:
        """The command that a message stands for, if it answers something that was shown.

        It does so as a press of a button, or a reply, whose ``reply_to`` is the message that was
        shown; or as the code of an open question with a choice.
        """
        text = inbound.text.strip()
        shown = self._shown.get(((inbound.channel, inbound.chat_id), inbound.reply_to or ""))
        if shown is not None and shown.startswith("/pair "):
            choice = meant_at_door(text)
            return None if choice is None else shown + ("" if choice == LET_IN else " block")
        if shown is not None and (choice := self._meant(shown.split()[1], text)) is not None:
            return f"{shown} {choice}"
        found = _WITH_CODE.fullmatch(text)
        if found is None or self.find(found[2]) is None:
            return None
        word, code, typed = found[1], found[2].upper(), found[3]
        if word is not None:
            typed = "deny" if word.casefold() == "deny" else typed or "once"
        choice = self._meant(code, typed or "")
        return None if choice is None else f"/answer {code} {choice}"

    def _meant(self, code: str, typed: str) -> str | None:
        waiting = self.find(code)
        return meant(typed, CHOICES if waiting is None else waiting.choices)
