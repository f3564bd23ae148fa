"""The plugin: the guard for messages, approvals by admins, the commands and the services."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence

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
    Route,
    StoredQuestion,
    StoreError,
    ToolCall,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.importers import Importer, LateImporter
from hookline_hookspecs.optional_services import QuestionChat
from hookline_hookspecs.people import PeopleDirectory, RolePermissions
from hookline_hookspecs.questions import QuestionHandler
from hookline_hookspecs.sentences import N_

from .chats import AdminChats, Chat
from .claims import AdminClaims
from .codes import PAIRING_CODE_CHARS, parse_code
from .config import EVERYBODY, AccessConfig
from .directory import AccessDirectory
from .group_turns import GroupTurns, command_in
from .notices import StrangerNotices
from .pairing import PairingRequest, PairingRequests
from .pairing_questions import PairingQuestions
from .people import MAX_ID_BYTES, People, Person, Role
from .role_permissions import TableRolePermissions
from .roles import role_table
from .texts import (
    AUDITORS,
    BLOCKED,
    CLAIMED,
    IN_PRIVATE,
    MORE_REQUESTS,
    NOT_YOURS,
    REMOVED,
    claim_text,
    group_prompt,
    no_code_left_text,
    on_one_line,
    pairing_prompt,
    waiting_text,
)

MAX_REMEMBERED_SESSIONS = 1024
"""Sessions whose person is remembered, for their sub-agents."""


class AccessControl(Plugin[AccessConfig]):
    """Decides who may write on network channels and who answers approvals; denies by default."""

    needs_no_channel = False
    runs_turns = False

    def __init__(self, config: AccessConfig, host: Host) -> None:
        super().__init__(config, host)
        self.people = People(config, host)
        self._chats = AdminChats(host, self.people)
        self.pairing = PairingRequests(config, host, self.people)
        self.claims = AdminClaims(config, host, self.people)
        self._questions = PairingQuestions(host, self._decide)
        self._turns = GroupTurns(host)
        self._notices = StrangerNotices(host)
        self._askers: OrderedDict[str, Person] = OrderedDict()
        self._claim_printed_at: float | None = None

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the services. The store is not read before the first message."""
        for fault in self.config.faults:
            self.log.warning("%s", fault)
        host.services.provide(Access, self)
        host.services.provide(PeopleDirectory, AccessDirectory(self.people, self.pairing))
        host.services.provide(RolePermissions, TableRolePermissions(self.people, self._chats))
        host.services.add(GatewayService, self)
        host.services.add(QuestionHandler, self._questions)
        host.services.add(Importer, LateImporter(frozenset({"person"}), self._importer))
        host.signals.connect("settled", self._settled)

    def _importer(self) -> Importer:
        from .person_importer import PersonImporter

        return PersonImporter(self.host, self.people)

    # The service

    async def may_write(self, channel: str, user_id: str) -> bool:
        """Whether this person may write; False if the store cannot be read."""
        if not self._is_network(channel):
            return True
        try:
            return (await self.people.role(Person.on(channel, user_id))).may_write
        except HooklineError as error:
            self.log.error("cannot read who may write; refusing the message: %s", error)
            return False

    async def may_approve(self, channel: str, user_id: str) -> bool:
        """Whether this person may approve their own calls; False if the store cannot be read."""
        person = Person.on(channel, user_id)
        try:
            return not self._is_network(channel) or (await self.people.role(person)).may_decide
        except HooklineError as error:
            self.log.error("cannot read who may approve; refusing: %s", error)
            return False

    async def may_answer(self, question: StoredQuestion, channel: str, user_id: str) -> bool:
        """Whether this person may answer: an admin, and for what is no approval also the asker.

        False if the store cannot be read.
        """
        person = Person.on(channel, user_id)
        if not self._is_network(channel):
            return True
        try:
            role = await self.people.role(person)
        except HooklineError as error:
            self.log.error("cannot read who may answer; refusing: %s", error)
            return False
        is_asker = (question.channel, question.asker) == (channel, user_id)
        is_own = is_asker and question.kind in ("clarify", "form")
        return person.can_be_known and (role.may_decide or (is_own and role.may_write))

    async def chats_to_ask(self, question: StoredQuestion) -> Sequence[QuestionChat]:
        """The turn's own chat if its person may answer, else a private chat of each admin.

        Only chats of network channels that are on; elsewhere the person is asked where they are.
        """
        known = {channel.name for channel in self.host.channels() if channel.network}
        if question.channel not in known:
            return []
        if await self.may_answer(question, question.channel, question.asker):
            return [QuestionChat(question.channel, question.chat_id, question.asker)]
        chats = [chat for chat in await self._chats.of_admins() if chat[0] in known]
        return [QuestionChat(*chat, self._chats.writer(*chat)) for chat in chats]

    def is_operator(self, inbound: Inbound) -> bool:
        """Whether this is a message of an admin in a private chat."""
        return self.people.is_admin(Person.of(inbound)) and self._chats.is_private(
            inbound.channel, inbound.chat_id, inbound.user_id
        )

    def _is_network(self, channel: str) -> bool:
        """Whether not only the operator can write on a channel; true for an unknown name."""
        if channel == TERMINAL:
            return False
        return all(known.network for known in self.host.channels() if known.name == channel)

    # Messages

    @hookimpl(tryfirst=True)
    async def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | Deny | None:
        """Accept messages of known people; others get a pairing code or no answer."""
        if not self._is_network(inbound.channel):
            return None
        person = Person.of(inbound)
        if (
            not person.can_be_known
            or len(inbound.chat_id.encode("utf-8", "replace")) > MAX_ID_BYTES
        ):
            return Deny("")
        try:
            return await self._decide_message(inbound, person)
        except StoreError:  # core asks this guard again once the store answers
            raise
        except HooklineError as error:
            self.log.error("cannot read who may write; refusing the message: %s", error)
            return Deny("")

    async def _decide_message(self, inbound: Inbound, person: Person) -> Inbound | Deny | None:
        role = await self.people.role(person)
        own_words = inbound.kind == "message" and not inbound.forwarded
        if not self.people.has_known_admin:
            if own_words and await self.claims.take(inbound):
                return await self._welcome_first_admin(inbound, person)
            await self._print_claim_code()
        elif role is Role.ADMIN and await self.people.claimed_by(inbound):
            return Deny(CLAIMED)  # the same message, delivered again after a crash
        await self._chats.note(inbound, is_kept=role in (Role.ADMIN, Role.AUDITOR))
        if role is Role.AUDITOR:
            return self._decide_for_auditor(inbound)
        if not role.may_write:
            return await self._request_pairing(inbound, role)
        if inbound.forwarded:
            self._turns.accepted(inbound)
            return None
        return await self._decide_in_group(inbound, role)

    def _decide_for_auditor(self, inbound: Inbound) -> Deny | None:
        """Accept only the commands that an auditor may use, in private."""
        known = None if inbound.forwarded else command_in(self.host, inbound.text)
        action = role_table().of_slash(known.name) if known is not None else "chat"
        if not role_table().may(Role.AUDITOR, action):
            return Deny(AUDITORS)
        if action != "account" and not self._chats.is_private(
            inbound.channel, inbound.chat_id, inbound.user_id
        ):
            return Deny(IN_PRIVATE.format(known.name if known is not None else ""))
        return None

    async def _decide_in_group(self, inbound: Inbound, role: Role) -> Deny | None:
        """In a group, refuse commands that the person may not use there."""
        if _is_single_person_chat(inbound):
            return None
        known = command_in(self.host, inbound.text)
        if known is None:
            self._turns.accepted(inbound)
            return None
        if role is Role.ADMIN:
            return None
        reason = await self._turns.refusal(inbound, known)
        return Deny(reason) if reason is not None else None

    def _settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        self._turns.settled(inbound)

    async def _welcome_first_admin(self, inbound: Inbound, person: Person) -> Deny:
        await self.people.role(person)
        await self._chats.note(inbound, is_kept=True)
        self.log.warning("%s is the first admin", on_one_line(str(person)))
        return Deny(CLAIMED)

    async def _request_pairing(self, inbound: Inbound, role: Role) -> Deny:
        outcome = await self.pairing.request_access(inbound)
        in_group = not _is_single_person_chat(inbound)
        if outcome.is_full and in_group:
            return Deny(group_prompt())
        if outcome.is_full:
            return Deny(no_code_left_text(Person.of(inbound), self.config.code_minutes))
        if outcome.code is None:
            return Deny("")
        if outcome.is_new and role is not Role.BLOCKED:
            self.log.warning("%s wrote and is unknown", on_one_line(str(Person.of(inbound))))
            self.host.spawn(self._notify_admins(outcome.code), "notify admins")
        if in_group:
            return Deny(group_prompt())
        return Deny(pairing_prompt(outcome.code, self.config.code_minutes))

    async def _notify_admins(self, code: str) -> None:
        request = await self.pairing.request(code)
        detail = self._notices.next()
        if request is None or detail == "none":
            return
        if detail == "more":
            for chat in await self._chats.of_admins():
                await self._questions.tell(chat, MORE_REQUESTS)
            return
        await self._questions.ask(request)

    # The first admin

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Warn about invalid settings, and print a claim code if there is no admin."""
        for fault in self.config.faults:
            _print(f"hookline: warning: {fault}\n")
        await self._chats.load()
        if not await self.people.has_admin():
            await self._print_claim_code()

    async def gateway_stopping(self) -> None:
        """Do nothing."""

    async def _print_claim_code(self) -> None:
        """Print a claim code, unless one that this process printed is still valid."""
        now, minutes = self.host.now(), self.config.claim_minutes
        if self._claim_printed_at is not None and now < self._claim_printed_at + 60 * minutes:
            return
        self._claim_printed_at = now
        _print(claim_text(await self.claims.make(), minutes))

    # Approvals

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Remember whose turn it is; a sub-agent works for the person of its parent."""
        session = turn.session
        parent = self._askers.get(session.parent_id) if session.parent_id else None
        self._askers[session.id] = parent or Person.of(turn.inbound)
        self._askers.move_to_end(session.id)
        while len(self._askers) > MAX_REMEMBERED_SESSIONS:
            self._askers.popitem(last=False)
        if self._is_network(turn.inbound.channel) and not _is_single_person_chat(turn.inbound):
            await self._turns.started(turn)

    @hookimpl
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Forget the running turn of the chat."""
        self._turns.ended(turn)

    def _asker(self, ctx: Context) -> Person:
        return self._askers.get(ctx.session.id) or Person.of(ctx.turn.inbound)

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        """Refuse calls for a person who lost the right to write since the turn started."""
        asker = self._asker(ctx)
        if not self._is_network(asker.place) or not asker.can_be_known:
            return None
        return None if (await self.people.role(asker)).may_write else Deny(REMOVED)

    # Commands of admins

    @command("/pair", audience="admins", immediate=True, category="People and schedule")
    async def pair(self, ctx: Context, args: str) -> str:
        """Let an unknown person in (admins only): /pair [CODE or CHANNEL:USER] [block]."""
        if not await self._may_decide(ctx):
            return NOT_YOURS
        if not args:
            return waiting_text(await self.pairing.waiting())
        words, _, last = args.rpartition(" ")
        blocks = bool(words) and last.casefold() == "block"
        who, by = words if blocks else args, str(Person.of(ctx.turn.inbound))
        if (person := Person.parse(who.strip())) is not None:
            return await self._decide_by_name(person, by, blocks=blocks)
        return await self._decide(parse_code(who, PAIRING_CODE_CHARS) or "", by, blocks)

    async def _decide_by_name(self, person: Person, by: str, *, blocks: bool) -> str:
        name = on_one_line(str(person))
        if person.user_id == EVERYBODY or not person.can_be_known or person.channel == TERMINAL:
            return N_(f"{name} is not a person. Write CHANNEL:USER, such as telegram:111.")
        if await self.people.role(person) is Role.ADMIN:
            return N_(
                f"{name} is already an admin. `hookline pairing` in the terminal can change that."
            )
        if blocks:
            await self.people.put(person, Role.BLOCKED, by)
            return BLOCKED.format(name)
        if not await self.pairing.let_in(person, by):
            return BLOCKED.format(name)
        return f"{name} may write now."

    async def _decide(self, code: str, by: str, blocks: bool) -> str:
        if blocks:
            request = await self.pairing.request(code)
        else:
            request = await self.pairing.approve(code, by)
        if request is None:
            return N_("No open request has this code. /pair lists the open requests.")
        who = on_one_line(str(request.person))
        if blocks:
            await self.people.put(request.person, Role.BLOCKED, by)
            return BLOCKED.format(who)
        if request.chat_id:
            self.host.spawn(self._welcome(request), "welcome")
        return f"{who} may write now."

    async def _welcome(self, request: PairingRequest) -> None:
        chat: Chat = (request.person.place, request.chat_id)
        await self._questions.tell(chat, "You have been let in. Write again.")

    async def _may_decide(self, ctx: Context) -> bool:
        """Whether the person is an admin, in any chat, or writes in the terminal."""
        person = Person.of(ctx.turn.inbound)
        if person.channel == TERMINAL:
            return True
        return person.can_be_known and (await self.people.role(person)).may_decide

    # Pages and checks

    @hookimpl
    def register_routes(self, register: Callable[[Route], None]) -> None:
        """Register the page ``/people``."""
        from .pages import PeoplePages

        def welcome(request: PairingRequest) -> None:
            self.host.spawn(self._welcome(request), "welcome")

        pages = PeoplePages(self.config, self.host, self.people, self.pairing, welcome)
        pages.register(register)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register checks: there is an admin, and the lists are valid."""
        from .doctor_checks import admin_check, lists_check

        register(Check("admin", lambda: admin_check(self.host, self.people)))
        register(Check("lists", lambda: lists_check(self.config)))


def _is_single_person_chat(inbound: Inbound) -> bool:
    """Whether a chat has one person: its channel says so, or else its id is the person's."""
    if inbound.private is None:
        return inbound.chat_id == inbound.user_id
    return inbound.private


def _print(text: str) -> None:
    """Print to the terminal of the gateway."""
    sys.stderr.write(text)
    sys.stderr.flush()
