"""The plugin: the gate, the questions that admins answer, the commands and the service."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

from hookline_hookspecs import (
    Access,
    Check,
    Context,
    Deny,
    GatewayService,
    HooklineError,
    Host,
    Inbound,
    Plugin,
    Question,
    Route,
    StoreError,
    ToolCall,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.audit import approved
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.importers import Importer, LateImporter
from hookline_hookspecs.people import PeopleDirectory, RolePermissions

from .asking import Desk
from .chats import Chat, Chats
from .claims import Claims
from .codes import PAIRING, typed
from .config import EVERYBODY, AccessConfig
from .directory import Directory
from .notices import Notices
from .pairing import PairingRequests, Request
from .people import LONGEST_ID, People, Person, Role
from .permissions import Permitted
from .roles import table
from .turns import Turns, command_in
from .wording import (
    AUDITORS,
    BLOCK,
    BLOCKED,
    CLAIMED,
    DENY,
    IN_PRIVATE,
    LET_IN,
    MORE_ASK,
    NOT_YOURS,
    REMOVED,
    at_the_door,
    claim_text,
    meant,
    named,
    on_one_line,
    question_text,
    request_text,
    waiting_text,
    without_a_code,
)

KNOWN = 1024
"""Sessions whose person is remembered, for their sub-agents."""


class AccessControl(Plugin[AccessConfig]):
    """Nobody writes on a network channel, and nobody approves, who was not let in."""

    needs_no_channel = False
    runs_turns = False

    def __init__(self, config: AccessConfig, host: Host) -> None:
        super().__init__(config, host)
        self.people = People(config, host)
        self._chats = Chats(host, self.people)
        self.pairing = PairingRequests(config, host, self.people)
        self.claims = Claims(config, host, self.people)
        self._desk = Desk(host)
        self._turns = Turns(host)
        self._notices = Notices(host)
        self._askers: OrderedDict[str, Person] = OrderedDict()
        self._announced: float | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer the service; nothing is read before somebody writes."""
        for fault in self.config.faults:
            self.log.warning("%s", fault)
        host.services.provide(Access, self)
        host.services.provide(PeopleDirectory, Directory(self.people, self.pairing))
        host.services.provide(RolePermissions, Permitted(self.people, self._chats))
        host.services.add(GatewayService, self)
        host.services.add(Importer, LateImporter(frozenset({"person"}), self._importer))
        host.signals.connect("settled", self._settled)

    def _importer(self) -> Importer:
        from .imports import PersonImporter

        return PersonImporter(self.host, self.people)

    # The service

    async def may_write(self, channel: str, user_id: str) -> bool:
        """Whether this person's messages are let in; False where it cannot be known."""
        if not self._is_network(channel):
            return True
        try:
            return (await self.people.role(Person.on(channel, user_id))).may_write
        except HooklineError as error:
            self.log.error("nobody can be let in: %s", error)
            return False

    async def may_approve(self, channel: str, user_id: str) -> bool:
        """Whether this person's own word approves a call of theirs; False where it cannot be
        known."""
        person = Person.on(channel, user_id)
        try:
            return not self._is_network(channel) or (await self.people.role(person)).may_decide
        except HooklineError as error:
            self.log.error("nobody can approve: %s", error)
            return False

    def is_operator(self, inbound: Inbound) -> bool:
        """True for an admin's message in a chat where nobody else reads."""
        return self.people.is_admin(Person.of(inbound)) and self._chats.is_private(
            inbound.channel, inbound.chat_id, inbound.user_id
        )

    def _is_network(self, channel: str) -> bool:
        """True unless only the operator can write there; a name that nobody brought is open."""
        if channel == TERMINAL:
            return False
        return all(one.network for one in self.host.channels() if one.name == channel)

    # The gate

    @hookimpl(tryfirst=True)
    async def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | Deny | None:
        """Let known people through; others get a code, or nothing."""
        if not self._is_network(inbound.channel):
            return None
        person = Person.of(inbound)
        if not person.can_be_known or len(inbound.chat_id.encode("utf-8", "replace")) > LONGEST_ID:
            return Deny("")
        try:
            return await self._judged(inbound, person)
        except StoreError:  # a guard that fails is asked again once the store answers
            raise
        except HooklineError as error:
            self.log.error("nobody can be let in: %s", error)
            return Deny("")

    async def _judged(self, inbound: Inbound, person: Person) -> Inbound | Deny | None:
        role = await self.people.role(person)
        own_words = inbound.kind == "message" and not inbound.forwarded
        if not self.people.has_known_admin:
            if own_words and await self.claims.take(inbound):
                return await self._claimed(inbound, person)
            await self._announce()
        elif role is Role.ADMIN and await self.people.claimed_by(inbound):
            return Deny(CLAIMED)  # the same message, after a crash
        await self._chats.note(inbound, is_kept=role in (Role.ADMIN, Role.AUDITOR))
        if role is Role.AUDITOR:
            return self._read_only(inbound)
        if not role.may_write:
            return await self._at_the_door(inbound, role)
        if inbound.forwarded:
            self._turns.let_in(inbound)
            return None
        answer = await self._desk.command_of(inbound)
        if answer is None:
            return await self._in_shared_chat(inbound, role)
        return replace(inbound, text=answer) if role.may_decide else Deny(NOT_YOURS)

    def _read_only(self, inbound: Inbound) -> Deny | None:
        """Let an auditor give the commands that the table of roles names, in private."""
        known = None if inbound.forwarded else command_in(self.host, inbound.text)
        action = table().of_slash(known.name) if known is not None else "chat"
        if not table().may(Role.AUDITOR, action):
            return Deny(AUDITORS)
        if action != "account" and not self._chats.is_private(
            inbound.channel, inbound.chat_id, inbound.user_id
        ):
            return Deny(IN_PRIVATE.format(known.name if known is not None else ""))
        return None

    async def _in_shared_chat(self, inbound: Inbound, role: Role) -> Deny | None:
        """Refuse commands that act on what somebody else began."""
        if _is_alone(inbound):
            return None
        known = command_in(self.host, inbound.text)
        if known is None:
            self._turns.let_in(inbound)
            return None
        if role is Role.ADMIN:
            return None
        why = await self._turns.refusal(inbound, known)
        return Deny(why) if why is not None else None

    def _settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        self._turns.settled(inbound)

    async def _claimed(self, inbound: Inbound, person: Person) -> Deny:
        await self.people.role(person)
        await self._chats.note(inbound, is_kept=True)
        self.log.warning("%s is the first admin", on_one_line(str(person)))
        return Deny(CLAIMED)

    async def _at_the_door(self, inbound: Inbound, role: Role) -> Deny:
        attempt = await self.pairing.request_access(inbound)
        if attempt.is_full:
            return Deny(without_a_code(Person.of(inbound), self.config.code_minutes))
        if attempt.code is None:
            return Deny("")
        if attempt.is_new and role is not Role.BLOCKED:
            self.log.warning("%s is not known and wrote", on_one_line(str(Person.of(inbound))))
            self.host.spawn(self._tell_admins(attempt.code), "tell admins")
        return Deny(at_the_door(attempt.code, self.config.code_minutes))

    async def _tell_admins(self, code: str) -> None:
        request = await self.pairing.request(code)
        wanted = self._notices.next()
        if request is None or wanted == "none":
            return
        if wanted == "more":
            for chat in await self._chats.of_admins():
                await self._desk.show(chat, MORE_ASK)
            return
        text, choices = request_text(request), (LET_IN, BLOCK)
        for chat in await self._chats.of_admins():
            await self._desk.show(chat, text, choices, f"/pair {code}")

    # The first admin

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Warn of what is wrong with the lists, and print a claim code if there is no admin."""
        for fault in self.config.faults:
            _print(f"hookline: warning: {fault}\n")
        await self._chats.load()
        await self._desk.prune()
        if not await self.people.has_admin():
            await self._announce()

    async def gateway_stopping(self) -> None:
        """Nothing is to be done."""

    async def _announce(self) -> None:
        """Print a claim code, unless one that this process has printed is still good."""
        now, minutes = self.host.now(), self.config.claim_minutes
        if self._announced is not None and now < self._announced + 60 * minutes:
            return
        self._announced = now
        _print(claim_text(await self.claims.make(), minutes))

    # Approvals

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Note for whom the session works; a sub-agent works for whom its parent works."""
        session = turn.session
        parent = self._askers.get(session.parent_id) if session.parent_id else None
        self._askers[session.id] = parent or Person.of(turn.inbound)
        self._askers.move_to_end(session.id)
        while len(self._askers) > KNOWN:
            self._askers.popitem(last=False)
        if self._is_network(turn.inbound.channel) and not _is_alone(turn.inbound):
            await self._turns.started(turn)

    @hookimpl
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Note that nobody's turn runs in the chat."""
        self._turns.ended(turn)

    def _asker(self, ctx: Context) -> Person:
        return self._askers.get(ctx.session.id) or Person.of(ctx.turn.inbound)

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        """Refuse what is done for somebody who was let in when the turn began and is not now."""
        asker = self._asker(ctx)
        if not self._is_network(asker.place) or not asker.can_be_known:
            return None
        return None if (await self.people.role(asker)).may_write else Deny(REMOVED)

    @hookimpl
    async def on_question(self, ctx: Context, question: Question) -> str | None:
        """Put an approval to the admins, unless who needs it is one.

        Never None where it is not: core and ``approvals`` would ask the person.
        """
        if question.kind != "approval" or not ctx.interactive:
            return None
        asker = self._asker(ctx)
        if not self._is_network(asker.place):
            return None
        try:
            if asker.can_be_known and await self.people.role(asker) is Role.ADMIN:
                return None
            choice = await self._asked(ctx, question, asker)
            return choice if await self._still_in(asker) else DENY
        except Exception as error:
            self.log.exception("an approval is refused, because no admin could be asked")
            ctx.notify(f"No admin could be asked, so it was refused: {error}")
            return DENY

    async def _still_in(self, asker: Person) -> bool:
        """False for somebody who was taken off the list while an admin was asked."""
        return not asker.can_be_known or (await self.people.role(asker)).may_write

    async def _asked(self, ctx: Context, question: Question, asker: Person) -> str:
        name = question.call.name if question.call is not None else "it"
        here = (ctx.session.channel, ctx.session.chat_id)
        shows: list[asyncio.Task[bool]] = []
        with self._desk.opened(question.choices, ctx.session.id) as waiting:
            text = question_text(question, waiting.code, asker, here[1])
            try:
                async with asyncio.timeout(self.config.timeout), self._desk.told_elsewhere(waiting):
                    for chat in await self._chats.of_admins():
                        show = self._desk.show(
                            chat, text, question.choices, f"/answer {waiting.code}"
                        )
                        shows.append(self.host.spawn(show, "ask"))
                    if not await _any(shows):
                        ctx.notify(f"No admin can be reached, so {name} was refused.")
                        return DENY
                    told = f"An admin is asked whether {name} may run."
                    shows.append(self.host.spawn(self._desk.show(here, told), "tell"))
                    return await waiting.answer
            except TimeoutError:
                ctx.notify(f"No admin answered in time, so {name} was refused.")
                return DENY
            finally:
                for task in shows:
                    task.cancel()

    # What admins write

    @command("/answer", audience="admins", immediate=True, category="Model and safety")
    async def answer(self, ctx: Context, args: str) -> str:
        """Answer an approval that an admin is asked: /answer CODE once|session|always|deny."""
        if not await self._may_decide(ctx):
            return NOT_YOURS
        code, _, words = args.partition(" ")
        waiting = self._desk.find(code)
        if waiting is None and (choices := await self._desk.choices_elsewhere(code)):
            if (choice := meant(words, choices)) is None:
                return f"Write /answer {code.upper()} and {named(choices)}."
            await self._desk.answer_elsewhere(code, choice)
            self.log.warning("%s answered %s: %s", Person.of(ctx.turn.inbound), code, choice)
            return _said(choice)
        if waiting is None:
            return f"No question {on_one_line(code, 20)} is open; it may have been answered."
        choice = meant(words, waiting.choices)
        if choice is None:
            return f"Write /answer {waiting.code} and {named(waiting.choices)}."
        approved(self.host, waiting.session, str(Person.of(ctx.turn.inbound)))
        if not waiting.settle(choice):
            return "Somebody was faster: it has been answered."
        self.log.warning("%s answered %s: %s", Person.of(ctx.turn.inbound), waiting.code, choice)
        return _said(choice)

    @command("/pair", audience="admins", immediate=True, category="People and schedule")
    async def pair(self, ctx: Context, args: str) -> str:
        """Let an unknown person in, as an admin: /pair [CODE or CHANNEL:USER] [block]."""
        if not await self._may_decide(ctx):
            return NOT_YOURS
        if not args:
            return waiting_text(await self.pairing.waiting())
        words, _, last = args.rpartition(" ")
        blocks = bool(words) and last.casefold() == "block"
        who, by = words if blocks else args, str(Person.of(ctx.turn.inbound))
        if (person := Person.parse(who.strip())) is not None:
            return await self._decide_by_name(person, by, blocks=blocks)
        return await self._decide(typed(who, PAIRING) or "", by, blocks=blocks)

    async def _decide_by_name(self, person: Person, by: str, *, blocks: bool) -> str:
        name = on_one_line(str(person))
        if person.user_id == EVERYBODY or not person.can_be_known or person.channel == TERMINAL:
            return f"{name} is no person; write CHANNEL:USER, such as telegram:111."
        if await self.people.role(person) is Role.ADMIN:
            return f"{name} is an admin already; `hookline pairing` in the terminal changes that."
        if blocks:
            await self.people.put(person, Role.BLOCKED, by)
            return BLOCKED.format(name)
        if not await self.pairing.let_in(person, by):
            return f"{name} is blocked; `hookline pairing revoke` in the terminal takes it back."
        return f"{name} may write now."

    async def _decide(self, code: str, by: str, *, blocks: bool) -> str:
        found = await self.pairing.request(code) if blocks else await self.pairing.approve(code, by)
        if found is None:
            return "No open request has this code. /pair shows those there are."
        who = on_one_line(str(found.person))
        if blocks:
            await self.people.put(found.person, Role.BLOCKED, by)
            return BLOCKED.format(who)
        if found.chat_id:
            self.host.spawn(self._welcome(found), "welcome")
        return f"{who} may write now."

    async def _welcome(self, request: Request) -> None:
        chat: Chat = (request.person.place, request.chat_id)
        await self._desk.show(chat, "You have been let in. Write again.")

    async def _may_decide(self, ctx: Context) -> bool:
        """True for an admin, in whatever chat, and in the terminal."""
        person = Person.of(ctx.turn.inbound)
        if person.channel == TERMINAL:
            return True
        return person.can_be_known and (await self.people.role(person)).may_decide

    # The command line

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the pages of people."""
        from .pages import PeoplePages

        def welcome(request: Request) -> None:
            self.host.spawn(self._welcome(request), "welcome")

        pages = PeoplePages(self.config, self.host, self.people, self.pairing, welcome)
        pages.register(register)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """That somebody is admin, and that the lists mean what they say."""
        from .checks import admin_check, lists_check

        register(Check("admin", lambda: admin_check(self.host, self.people)))
        register(Check("lists", lambda: lists_check(self.config)))


def _said(choice: str) -> str:
    return "Denied." if choice == DENY else f"Allowed: {choice.lower()}."


def _is_alone(inbound: Inbound) -> bool:
    """True in a chat with one person, as its channel says, or else as its name does."""
    if inbound.private is None:
        return inbound.chat_id == inbound.user_id
    return inbound.private


async def _any(shows: Sequence[asyncio.Task[bool]]) -> bool:
    """True as soon as one has worked; False when none did."""
    for done in asyncio.as_completed(shows):
        if await done:
            return True
    return False


def _print(text: str) -> None:
    """Show something in the terminal of the gateway."""
    sys.stderr.write(text)
    sys.stderr.flush()
