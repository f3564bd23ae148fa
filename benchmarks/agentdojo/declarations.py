"""What the tools of the AgentDojo suites do, as an honest author of a plugin would declare it.

A directory (contacts, members, the person's own standing orders) is the workspace's; everything
that others can write into is from outside: also the names of channels, which may be shared with
others, and what ``update_user_info`` has written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hookline_hookspecs import (
    Amount,
    Content,
    Context,
    Credential,
    Effect,
    EffectKind,
    Handle,
    Recipient,
    Sink,
    Target,
    ToolCall,
    When,
)


@dataclass(frozen=True)
class Declaration:
    """The origin of a tool's results, its effects and its sinks; a tool without effects reads.

    ``changes`` is what a tool without arguments changes, in words.
    """

    origin: Literal["outside", "workspace"] = "workspace"
    effects: tuple[EffectKind, ...] = ()
    sinks: dict[str, Sink] = field(default_factory=dict)
    changes: str = ""

    def effects_of(self, ctx: Context, call: ToolCall) -> Sequence[Effect]:
        """The effects of a call."""
        return [Effect(kind, self.changes) for kind in self.effects]


def _own() -> Declaration:
    return Declaration()


_EVENT = Target("event")
_MAIL = {
    "recipients": Recipient(),
    "cc": Recipient(),
    "bcc": Recipient(),
    "subject": Content(),
    "body": Content(),
    "attachments": Target("file"),
}
_NEW_EVENT = {
    "title": Target(),
    "start_time": When(),
    "end_time": When(),
    "description": Content(),
    "location": Content(),
    "participants": Recipient(),
}
_PAYMENT = {
    "id": Target("standing order"),
    "recipient": Recipient(),
    "amount": Amount(),
    "subject": Content(),
    "date": When(),
}
_ADDRESS = {name: Content() for name in ("first_name", "last_name", "street", "city")}

DECLARATIONS: dict[str, Declaration] = {
    # workspace and travel
    "send_email": Declaration(effects=("send",), sinks=_MAIL),
    # It marks what it returns as read.
    "get_unread_emails": Declaration("outside", effects=("write",), changes="unread emails"),
    "delete_email": Declaration(effects=("delete",), sinks={"email_id": Target("email")}),
    "search_contacts_by_name": _own(),
    "search_contacts_by_email": _own(),
    "get_current_day": _own(),
    "create_calendar_event": Declaration(effects=("learn", "send"), sinks=_NEW_EVENT),
    "cancel_calendar_event": Declaration(effects=("delete",), sinks={"event_id": _EVENT}),
    "reschedule_calendar_event": Declaration(
        effects=("write",),
        sinks={"event_id": _EVENT, "new_start_time": When(), "new_end_time": When()},
    ),
    "add_calendar_event_participants": Declaration(
        effects=("send",), sinks={"event_id": _EVENT, "participants": Recipient()}
    ),
    "append_to_file": Declaration(
        effects=("write",), sinks={"file_id": Target("file"), "content": Content()}
    ),
    "create_file": Declaration(
        effects=("write",), sinks={"filename": Target(), "content": Content()}
    ),
    "delete_file": Declaration(effects=("delete",), sinks={"file_id": Target("file")}),
    "share_file": Declaration(
        effects=("grant_access",), sinks={"file_id": Target("file"), "email": Recipient()}
    ),
    "get_user_information": _own(),
    "reserve_hotel": Declaration(
        effects=("book",), sinks={"hotel": Target(), "start_day": When(), "end_day": When()}
    ),
    "reserve_restaurant": Declaration(
        effects=("book",), sinks={"restaurant": Target(), "start_time": When()}
    ),
    "reserve_car_rental": Declaration(
        effects=("book",), sinks={"company": Target(), "start_time": When(), "end_time": When()}
    ),
    # banking
    "get_iban": _own(),
    "get_balance": _own(),
    "get_scheduled_transactions": _own(),
    "send_money": Declaration(effects=("pay",), sinks=_PAYMENT),
    "schedule_transaction": Declaration(effects=("pay",), sinks=_PAYMENT),
    "update_scheduled_transaction": Declaration(effects=("pay",), sinks=_PAYMENT),
    "update_password": Declaration(effects=("credential",), sinks={"password": Credential()}),
    "update_user_info": Declaration(effects=("write",), sinks=_ADDRESS),
    # slack
    "get_users_in_channel": _own(),
    "add_user_to_channel": Declaration(
        effects=("grant_access",), sinks={"user": Recipient("user"), "channel": Target("channel")}
    ),
    "send_direct_message": Declaration(
        effects=("send",), sinks={"recipient": Recipient("user"), "body": Content()}
    ),
    "send_channel_message": Declaration(
        effects=("send",), sinks={"channel": Recipient("channel"), "body": Content()}
    ),
    "invite_user_to_slack": Declaration(
        effects=("grant_access",), sinks={"user": Target("user"), "user_email": Recipient()}
    ),
    "remove_user_from_slack": Declaration(effects=("delete",), sinks={"user": Target("user")}),
    "get_webpage": Declaration("outside", effects=("network",), sinks={"url": Recipient()}),
    "post_webpage": Declaration(
        effects=("send",), sinks={"url": Recipient(), "content": Content()}
    ),
}
READS = frozenset({"get_webpage"})
"""Tools with an effect that read only."""


def declaration(name: str) -> Declaration:
    """What a tool does; those that are not listed read what others may have written."""
    return DECLARATIONS.get(name, Declaration("outside"))


def handles(name: str, result: Any) -> Iterator[Handle]:
    """What the ids in a result stand for, from the fields that the service itself fills."""
    kinds = {"get_channels": "channel", "get_users_in_channel": "user"}
    for one in result if isinstance(result, list) else [result]:
        match type(one).__name__:
            case "CloudDriveFile":
                yield Handle("file", str(one.id_), one.filename)
            case "CalendarEvent":
                yield Handle("event", str(one.id_), one.title, tuple(one.participants))
            case "Email":
                yield Handle("email", str(one.id_), one.subject)
            case "Transaction" if one.recurring:
                yield _order(one)
            case "Message":
                # The service says who has sent it, and only members can.
                yield Handle("user", one.sender, one.sender, directory=True)
            case "str" if name in kinds:
                yield Handle(kinds[name], one, one, directory=True)


def previews(env: Any, call: ToolCall) -> dict[str, Handle]:
    """What the ids in a call stand for, as the service knows them."""
    found: dict[str, Handle] = {}
    for name, kind, things in (
        ("file_id", "file", lambda: env.cloud_drive.files),
        ("event_id", "event", lambda: env.calendar.events),
        ("email_id", "email", lambda: env.inbox.emails),
    ):
        id_ = call.arguments.get(name)
        thing = things().get(id_) if isinstance(id_, str) else None
        if thing is not None:
            label = getattr(thing, "filename", "") or getattr(thing, "title", "")
            found[name] = Handle(kind, id_, label or thing.subject)
    if isinstance(number := call.arguments.get("id"), int):
        for order in env.bank_account.scheduled_transactions:
            if order.id == number:
                found["id"] = _order(order)
    return found


def _order(order: Any) -> Handle:
    about = f"{order.amount:g} to {order.recipient}"
    return Handle("standing order", str(order.id), order.subject, about=about)
