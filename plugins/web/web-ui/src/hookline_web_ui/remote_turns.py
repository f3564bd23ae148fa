"""Turns that run in another process than the page.

A worker follows its turns with :class:`SharedLiveTurns`, which sends each event to the page's
process. There :class:`RemoteTurns` applies it to its own live turns. A process that starts to show
the page requests the state of all running turns, so that the page continues after a change of the
gateway.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Protocol
from uuid import uuid4

from hookline_hookspecs import Choice, Conversations, HooklineError, Host, Inbound, Reply, Session
from hookline_webkit.relay import Relay

from .event_hub import EventHub
from .live_turns import LiveTurn, LiveTurns
from .session_owner import Chat

MAX_ENDED_TURNS = 1024
"""Ended turns to remember."""
RETRY_INTERVAL = 2.0
"""Seconds after which a request to a worker is repeated."""
MAX_ATTEMPTS = 10
SETTLE_DELAY = 2.0
"""Seconds to wait for the end of a turn after its reply."""
WATCH_INTERVAL = 10.0
"""Seconds between two checks of turns in other processes."""


class SharedLiveTurns(LiveTurns):
    """Running turns whose events go to the page's process if that is another one."""

    def __init__(self, hub: EventHub, now: Callable[[], float], relay: Relay) -> None:
        super().__init__(hub, now)
        self._relay = relay

    @property
    def _is_away(self) -> bool:
        return self._relay.is_elsewhere

    def _show(self, kind: str, turn: LiveTurn, *more: Any) -> bool:
        """Send to the page's process; False if that is this one."""
        if not self._is_away:
            return False
        self._relay.show(kind, turn.session, turn.id, *more)
        return True

    def tell(
        self,
        session: str,
        chat: Chat,
        kind: str,
        turn: str | None = None,
        *,
        fields: Mapping[str, Any],
        wide: bool = False,
    ) -> None:
        """Publish an event of a session, in whichever process the page is."""
        if self._is_away:
            self._relay.show("tell", session, turn, [*chat], kind, dict(fields), wide)
        else:
            super().tell(session, chat, kind, turn, fields=fields, wide=wide)

    def _tell(self, turn: LiveTurn, kind: str, **fields: Any) -> None:
        if not self._is_away:
            super()._tell(turn, kind, **fields)

    def _tell_queue(self, session: str, chat: Chat) -> None:
        if not self._is_away:
            super()._tell_queue(session, chat)

    def _tell_state(self, session: str, chat: Chat) -> None:
        if not self._is_away:
            super()._tell_state(session, chat)

    def unqueued(self, session: str, chat: Chat, message_id: str) -> None:
        """Remove a message from the queue."""
        super().unqueued(session, chat, message_id)
        if self._is_away:
            self._relay.show("unqueued", session, None, [*chat], message_id)

    def begin(self, session: str, chat: Chat, turn: str, message_id: str, part: int) -> LiveTurn:
        """Start a turn."""
        made = super().begin(session, chat, turn, message_id, part)
        self._show("begin", made, [*chat], message_id, part)
        return made

    def end(self, turn: LiveTurn) -> None:
        """End a turn."""
        super().end(turn)
        self._show("end", turn)

    def park(self, turn: LiveTurn) -> None:
        """Forget a turn that waits for an answer."""
        super().park(turn)
        self._show("park", turn)

    def forget(self, turn: LiveTurn) -> None:
        """End a turn without an event; another one reports it."""
        super().end(turn)

    def step(
        self, turn: LiveTurn, step: str, text: str = "", retry_at: float | None = None
    ) -> None:
        """Set what the turn is doing."""
        if turn.step != step or text:
            self._show("step", turn, step, text, retry_at)
        super().step(turn, step, text, retry_at)

    def add(self, turn: LiveTurn, text: str) -> None:
        """Add streamed text of the response."""
        super().add(turn, text)
        self._show("text", turn, text)

    def _flush(self, turn: LiveTurn) -> None:
        if not self._is_away:
            super()._flush(turn)
        elif turn.text.pending:
            turn.text.published.append("".join(turn.text.pending))
            turn.text.pending.clear()

    def restart(self, turn: LiveTurn) -> None:
        """Start the response again."""
        super().restart(turn)
        self._show("restart", turn)

    def whole(self, turn: LiveTurn, text: str) -> None:
        """Complete a response."""
        super().whole(turn, text)
        self._show("whole", turn, text)

    def called(self, turn: LiveTurn, call: Mapping[str, Any]) -> None:
        """Add a tool call."""
        super().called(turn, call)
        self._show("called", turn, dict(call))

    def returned(self, turn: LiveTurn, result: dict[str, Any]) -> None:
        """Add the result of a call."""
        super().returned(turn, result)
        self._show("returned", turn, result)

    def show_again(self) -> None:
        """Send every running turn in full to the page's process."""
        for turn in self._turns.values():
            self._flush(turn)
            self._show("turn", turn, [*turn.chat], turn.as_json())


class PageOutput(Protocol):
    """Shows replies and ends of turns; implemented by ``Pages``."""

    async def send(self, reply: Reply) -> str:
        """Show a reply."""

    async def tell_end(
        self, session: str, here: Chat, turn: str, fields: Mapping[str, Any]
    ) -> None:
        """Publish the end of a turn."""

    def resumed(self, session: str) -> None:
        """Switch pages to a session after ``/resume``."""

    def turn_began(self, session: str) -> None:
        """Remove the buttons of earlier messages in a session."""


class RemoteTurns:
    """Exchanges events and requests with other processes, if they share the work."""

    def __init__(self, host: Host, live: SharedLiveTurns, pages: PageOutput, relay: Relay) -> None:
        self._host, self._pages, self._relay = host, pages, relay
        self._live = live
        self._from: OrderedDict[str, str] = OrderedDict()
        """The process of the running turn, by session."""
        self._over: OrderedDict[str, None] = OrderedDict()

    def listen(self) -> None:
        """Accept requests about the turns of this process."""
        if self._relay.is_divided:
            requests = self._relay.receive("asked", self._on_request, lambda: None)
            self._host.spawn(requests, "receive requests")

    def show(self) -> None:
        """Show the page in this process from now on: follow turns of other processes."""
        if self._relay.is_divided:
            events = self._relay.receive(
                "shown", self._on_event, lambda: self._relay.ask("again", "")
            )
            self._host.spawn(events, "receive events")
            self._host.spawn(self._watch(), "watch turns")

    # In the process that runs turns

    def _on_request(self, process: str, message: list[Any]) -> None:
        kind, key, *more = message
        if kind == "again" and self._relay.is_elsewhere:
            self._live.show_again()
        elif kind == "stop" and self._live.turn(key) is not None:
            chat, name = more
            inbound = Inbound(*_pair(chat), name, uuid4().hex, "/stop", session_id=key)
            self._host.spawn(self._host.services[Conversations].stop(inbound), "stop")

    async def ended(self, turn: str, session: str, chat: Chat, fields: Mapping[str, Any]) -> None:
        """Make the page's process publish the end of a turn."""
        await self._host.storage.fetch("turn", id=turn)  # waits for earlier writes
        self._relay.show("ended", session, turn, [*chat], dict(fields))

    def reply(self, reply: Reply) -> None:
        """Make the page's process show a reply that answers no message."""
        fields = {
            "id": reply.id,
            "text": reply.text,
            "choices": [_choice(one) for one in reply.choices],
            "in_reply_to": reply.in_reply_to,
            "kind": reply.kind,
            "question": reply.question,
        }
        self._relay.show("reply", reply.session.id, None, [*_chat(reply.session)], fields)

    # In the page's process

    def stop(self, session: str, chat: Chat, name: str) -> bool:
        """Stop a turn of another process; False if none is known."""
        turn = self._live.turn(session)
        if turn is None or session not in self._from:
            return False
        self._host.spawn(self._stop(turn, chat, name), "stop")
        return True

    async def _stop(self, turn: LiveTurn, chat: Chat, name: str) -> None:
        for _ in range(MAX_ATTEMPTS):
            self._relay.ask("stop", turn.session, [*chat], name)
            await asyncio.sleep(RETRY_INTERVAL)
            if self._live.turn(turn.session) is not turn:
                return

    async def _watch(self) -> None:
        """End turns whose process died before it could report their end."""
        while True:
            await asyncio.sleep(WATCH_INTERVAL)
            for live in self._live.under_way():
                if live.session not in self._from:
                    continue
                with suppress(HooklineError):  # checked again next time
                    rows = await self._host.storage.fetch("turn", id=live.id)
                    if rows and rows[0]["state"] != "running":
                        await self.check(live.session, live.id)

    async def check(self, session: str, turn: str) -> None:
        """End a turn that is over in the store, if its process does not report that soon."""
        if not self._relay.is_divided:
            return
        await asyncio.sleep(SETTLE_DELAY)
        live = self._live.turn(session)
        if live is None or live.id != turn or session not in self._from:
            return
        found = await self._host.storage.fetch("turns", id=session, number=0)
        stop = next((row["stop"] for row in found if row["id"] == turn and row["ended"]), None)
        if stop is not None and self._is_new(turn):
            fields = {"text": "", "usage": {}, "tool_calls": len(live.tools), "stop": stop}
            fields |= {"message_id": live.message_id}
            await self._pages.tell_end(session, live.chat, turn, fields)

    def _is_new(self, turn: str) -> bool:
        """Record the end of a turn; False if it was recorded before."""
        if turn in self._over:
            return False
        self._over[turn] = None
        while len(self._over) > MAX_ENDED_TURNS:
            self._over.popitem(last=False)
        return True

    def _on_event(self, process: str, message: list[Any]) -> None:
        if self._relay.is_elsewhere:
            return  # another process serves the page now
        kind, session, turn, *more = message
        if kind in ("tell", "unqueued", "reply"):
            getattr(self, f"_{kind}")(process, session, turn, *more)
        elif kind in ("begin", "turn", "ended"):
            if turn not in self._over:
                getattr(self, f"_{kind}")(process, session, turn, *more)
        else:
            self._apply(process, kind, session, turn, *more)

    def _tell(
        self, _: str, session: str, turn: str | None, chat: Any, kind: str, fields: Any, wide: bool
    ) -> None:
        if kind == "resumed":
            self._pages.resumed(session)
        else:
            self._live.tell(session, _pair(chat), kind, turn, fields=fields, wide=wide)

    def _unqueued(self, _: str, session: str, __: None, chat: Any, message_id: str) -> None:
        self._live.unqueued(session, _pair(chat), message_id)

    def _reply(self, _: str, session: str, __: None, chat: Any, fields: Any) -> None:
        choices = tuple(Choice(**one) for one in fields.pop("choices"))
        made = Reply(
            Session(session, *_pair(chat), None, self._host.now()), choices=choices, **fields
        )
        self._host.spawn(self._pages.send(made), "show")

    def _begin(
        self, process: str, session: str, turn: str, chat: Any, message_id: str, part: int
    ) -> None:
        self._note(process, session)
        self._live.begin(session, _pair(chat), turn, message_id, part)

    def _note(self, process: str, session: str) -> None:
        """Record the process of a turn."""
        self._pages.turn_began(session)
        self._from[session] = process
        self._from.move_to_end(session)
        while len(self._from) > MAX_ENDED_TURNS:
            self._from.popitem(last=False)

    def _turn(self, process: str, session: str, turn: str, chat: Any, state: Any) -> None:
        """Take over the full state of a turn."""
        live, text = self._live.turn(session), "".join(one["text"] for one in state["parts"])
        is_known = live is not None and live.id == turn and self._from.get(session) == process
        if live is None or not is_known or live.part != state["part"]:
            self._note(process, session)
            live = self._live.begin(session, _pair(chat), turn, state["message_id"], state["part"])
        self._live.snapshot(session)
        known = "".join(live.text.published)
        if not text.startswith(known):
            self._live.restart(live)
            known = ""
        for tool in state["tools"]:
            if live.tools.get(tool["id"]) != tool:
                names = ("id", "name", "arguments")
                self._live.called(live, {name: tool[name] for name in names})
                if tool["ok"] is not None:
                    self._live.returned(live, tool)
        if text != known:
            self._live.add(live, text.removeprefix(known))
        self._live.step(live, state["step"], state["about"], state["retry_at"])

    def _apply(self, process: str, kind: str, session: str, turn: str, *more: Any) -> None:
        live = self._live.turn(session)
        if live is None or live.id != turn or self._from.get(session) != process:
            return
        names = {"text": "add"}
        getattr(self._live, names.get(kind, kind))(live, *more)

    def _ended(self, _: str, session: str, turn: str, chat: Any, fields: Any) -> None:
        if self._is_new(turn):
            publishing = self._pages.tell_end(session, _pair(chat), turn, fields)
            self._host.spawn(publishing, "publish the end")


def _chat(session: Session) -> Chat:
    return session.channel, session.chat_id


def _pair(chat: Any) -> Chat:
    return str(chat[0]), str(chat[1])


def _choice(one: Any) -> dict[str, Any]:
    made = one if isinstance(one, Choice) else Choice(one)
    return asdict(made)
