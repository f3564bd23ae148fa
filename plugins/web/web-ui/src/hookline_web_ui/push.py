"""Notifications by Web Push: who has subscribed, and of what they are notified.

A browser subscribes once its person turns notifications on. A message names only the chat, or who
answered: no argument, no command and no answer leaves this machine.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hookline_hookspecs import Access, HooklineError, Host, Questions, StoredQuestion, Turn
from hookline_hookspecs.secrets import redacted
from hookline_hookspecs.visible_text import on_one_line
from hookline_hookspecs.web import ENGLISH, Identity, Problem, language, plain_name, speaking, t
from hookline_webkit.address import is_loopback
from hookline_webkit.languages import load

from .person_settings import PeopleSettings
from .push_sender import PushSender, SubscriptionGone
from .session_owner import CHANNEL, owner

_KEY = "push:"
"""Begins the keys of subscriptions in the plugin's storage."""
_NOTIFIED = "notified:"
"""Begins the keys of the subscriptions that were notified of a question."""
MAX_SUBSCRIPTIONS = 20
"""Browsers of one person; the oldest is removed for a new one."""
MAX_ENDPOINT_CHARS = 2_000
MAX_KEY_CHARS = 200
MAX_TITLE_CHARS = 60
"""Characters of a chat's title in a notification."""
LONG_TURN_SECONDS = 30.0
"""Seconds after which the end of a turn is worth a notification."""
MAX_QUESTION_AGE = 60.0
"""Seconds. An older question was known before this process started."""
MAX_TURNS = 1_024
"""Running turns whose start is remembered."""


@dataclass(frozen=True, slots=True)
class PushSubscription:
    """A browser that is notified. ``person`` is their name on the channel ``web``."""

    person: str
    device: str
    endpoint: str
    p256dh: str
    auth: str
    added: float
    language: str = ""
    """The language of the page where it was turned on; empty for English."""

    @property
    def key(self) -> str:
        """Its key in the plugin's storage."""
        return _KEY + hashlib.sha256(self.endpoint.encode()).hexdigest()

    def for_service(self) -> dict[str, Any]:
        """Return it as the browser has written it."""
        keys = {"p256dh": self.p256dh, "auth": self.auth}
        return {"endpoint": self.endpoint, "keys": keys}


class PushNotifications:
    """Notifies the browsers of people who may answer a question or wait for a turn."""

    def __init__(self, host: Host, sender: PushSender, settings: PeopleSettings) -> None:
        self._host, self._sender, self._settings = host, sender, settings
        self._began: OrderedDict[str, float] = OrderedDict()

    # Subscribing

    def state(self) -> dict[str, str]:
        """Return the key to subscribe with, or the ``problem`` why that is not possible."""
        problem = self._sender.problem()
        return {"problem": problem, "key": "" if problem else self._sender.public_key()}

    async def subscribe(self, who: Identity, body: Mapping[str, Any]) -> None:
        """Store a browser's subscription. Raises :class:`Problem` (400, 503)."""
        if problem := self._sender.problem():
            raise Problem(503, "not_installed", problem)
        made = _read(who, body, self._host.now())
        why = self._host.http.check_url(made.endpoint)
        at = urlsplit(made.endpoint)
        if at.scheme != "https" and not is_loopback(at.hostname or ""):
            why = why or "its address does not begin with https."
        if why:
            raise Problem(400, "bad_request", t("The push service cannot be used: {why}", why=why))
        await self._host.storage.kv.set(made.key, _as_dict(made))
        mine = sorted((one for one in await self._all() if one.person == who.name), key=_added)
        for old in mine[:-MAX_SUBSCRIPTIONS]:
            await self._remove(old)

    async def unsubscribe(self, who: Identity, endpoint: str) -> None:
        """Delete the person's subscription with this address, if there is one."""
        for one in await self._all():
            if (one.person, one.endpoint) == (who.name, endpoint):
                await self._remove(one)

    def signed_out(self, device: str) -> None:
        """Delete the subscription of a browser that was signed out."""
        self._host.spawn(self._forget_device(device), "delete a push subscription")

    async def _forget_device(self, device: str) -> None:
        for one in await self._all():
            if one.device == device:
                await self._remove(one)

    async def _all(self) -> list[PushSubscription]:
        store = self._host.storage.kv
        rows = [await store.get(key) for key in await store.keys(_KEY)]
        return [PushSubscription(**row) for row in rows if isinstance(row, dict)]

    async def _remove(self, one: PushSubscription) -> None:
        await self._host.storage.kv.delete(one.key)

    # Notifying

    async def question_opened(self, question: StoredQuestion, session: str, title: str) -> None:
        """Notify those who may answer a new question."""
        if self._host.now() - question.created > MAX_QUESTION_AGE:
            return
        access: Access | None = self._host.services.get(Access)
        subscribed = await self._all() if access is not None else []
        allowed: dict[str, bool] = {}
        for one in subscribed:
            if access is not None and one.person not in allowed:
                allowed[one.person] = (
                    await access.may_answer(question, CHANNEL, one.person)
                    and (await self._settings.read(one.person)).notify_questions
                )
        chosen = [one for one in subscribed if allowed.get(one.person)]
        is_own = question.channel == CHANNEL and not question.handler
        message = {"path": f"/chat/{session}" if is_own else "/inbox", "tag": question.id}
        if chosen:
            await self._host.storage.kv.set(_NOTIFIED + question.id, [one.key for one in chosen])
        await self._send(chosen, lambda: _question_text(_name(title)), message)

    async def question_closed(self, question: StoredQuestion) -> None:
        """Replace the notification of a question that is closed by who answered it."""
        store, key = self._host.storage.kv, _NOTIFIED + question.id
        notified = await store.get(key)
        if not isinstance(notified, list):
            return
        await store.delete(key)
        answer = question.answer
        by = on_one_line(answer.by, MAX_TITLE_CHARS) if answer is not None else ""
        message = {"path": "/inbox", "tag": question.id, "closes": "yes"}
        chosen = [one for one in await self._all() if one.key in notified]
        await self._send(chosen, lambda: _answer_text(by), message)

    async def close_left_over(self, open_ids: Collection[str]) -> None:
        """Withdraw the notifications of questions that were closed while no page was served."""
        for key in await self._host.storage.kv.keys(_NOTIFIED):
            question_id = key.removeprefix(_NOTIFIED)
            if question_id in open_ids:
                continue
            question = await self._host.services[Questions].get(question_id)
            if question is None:
                await self._host.storage.kv.delete(key)
            elif question.state != "open":
                await self.question_closed(question)

    def turn_began(self, turn_id: str) -> None:
        """Remember when a turn began."""
        self._began.setdefault(turn_id, time.monotonic())
        while len(self._began) > MAX_TURNS:
            self._began.popitem(last=False)

    async def turn_ended(self, turn: Turn, title: str) -> None:
        """Notify the owner of a chat of the page that a long turn is over."""
        began = self._began.pop(turn.id, None)
        name = owner((turn.session.channel, turn.session.chat_id))
        is_long = began is not None and time.monotonic() - began >= LONG_TURN_SECONDS
        if not is_long or name is None or turn.session.kind != "chat" or turn.stop == "stopped":
            return
        if not (await self._settings.read(name)).notify_turns:
            return
        message = {"path": f"/chat/{turn.session.id}", "tag": turn.session.id}
        chosen = [one for one in await self._all() if one.person == name]
        await self._send(chosen, lambda: _end_text(_name(title)), message)

    async def _send(
        self, chosen: list[PushSubscription], text: Callable[[], str], message: Mapping[str, str]
    ) -> None:
        """Send a message to each browser, with a text in the language of its person."""
        if not chosen or self._sender.problem():
            return
        for one in chosen:
            code = (await self._settings.read(one.person)).language or one.language
            with speaking(await asyncio.to_thread(load, code or ENGLISH.code)):
                body = text()
            try:
                await self._sender.send(one.for_service(), {"body": body, **message})
            except SubscriptionGone:
                await self._remove(one)
            except HooklineError as error:
                self._host.log.warning("a notification was not sent: %s", error)


def _added(one: PushSubscription) -> float:
    return one.added


def _as_dict(one: PushSubscription) -> dict[str, Any]:
    return {name: getattr(one, name) for name in PushSubscription.__slots__}


def _read(who: Identity, body: Mapping[str, Any], now: float) -> PushSubscription:
    """Return the subscription that a browser has sent. Raises :class:`Problem` (400)."""
    keys = body.get("keys")
    endpoint = body.get("endpoint")
    if not isinstance(keys, Mapping):
        keys = {}
    found = [endpoint, keys.get("p256dh"), keys.get("auth")]
    limits = (MAX_ENDPOINT_CHARS, MAX_KEY_CHARS, MAX_KEY_CHARS)
    texts = [one for one in found if isinstance(one, str)]
    fits = all(0 < len(one) <= most for one, most in zip(texts, limits, strict=False))
    if len(texts) < len(found) or not fits:
        raise Problem(400, "bad_request", "Send endpoint, keys.p256dh and keys.auth as strings.")
    return PushSubscription(
        who.name, who.device, texts[0], texts[1], texts[2], now, language().code
    )


def _name(title: str) -> str:
    """The chat's title, without what could pass for something else."""
    return on_one_line(redacted(title), MAX_TITLE_CHARS).strip()


def _question_text(chat: str) -> str:
    if chat:
        return t("A question is waiting in “{chat}”", chat=chat)
    return t("A question is waiting in a chat")


def _answer_text(by: str) -> str:
    return t("Answered by {name}", name=plain_name(by)) if by else t("The question is closed")


def _end_text(chat: str) -> str:
    if chat:
        return t("The answer in “{chat}” is ready", chat=chat)
    return t("The answer in a chat is ready")
