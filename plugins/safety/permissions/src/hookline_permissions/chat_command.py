"""The command ``/permissions``: the rules of a chat."""

from __future__ import annotations

from hookline_hookspecs import Inbound, Session
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import on_one_line

from .chat_rules import MAX_PERSON_CHARS, ChatRule
from .rule_levels import RuleLevels
from .rules import KINDS, RuleError, parse_rule

HELP = N_(
    "/permissions add allow|ask|deny RULE adds a rule to this chat, such as bash(git push *); "
    "/permissions remove RULE removes one."
)
ONLY_ADMINS = N_(
    "Only an admin may allow more in this chat than before; nothing was changed. "
    "/permissions add ask|deny RULE is open to everybody who may give this command here."
)


async def change_rules(
    levels: RuleLevels, session: Session, inbound: Inbound, args: str, trusted: bool
) -> str:
    """The answer to the command. ``trusted``: the person may allow more than before."""
    word, _, rest = args.strip().partition(" ")
    if word == "add":
        return await _add(levels, session, inbound, rest.strip(), trusted)
    if word == "remove" and rest.strip():
        return await _remove(levels, session, rest.strip(), trusted)
    if word not in ("", "list"):
        return HELP
    chat = levels.chat_of(session)
    stored = await levels.chats.of(chat)
    lines = [" · ".join((f"{one.kind} {one.text}", *_where(one))) for one in stored]
    shown = "\n".join(lines) if lines else N_("This chat has no rules of its own.")
    return f"{shown}\n\n{HELP}"


def _where(rule: ChatRule) -> tuple[str, ...]:
    by = on_one_line(rule.by, MAX_PERSON_CHARS)
    return (rule.where, N_(f"added by {by}")) if by else (rule.where,)


async def _add(
    levels: RuleLevels, session: Session, inbound: Inbound, words: str, trusted: bool
) -> str:
    name, _, text = words.partition(" ")
    kind = next((one for one in KINDS if one == name), None)
    if kind is None:
        return HELP
    if kind == "allow" and not trusted:
        return ONLY_ADMINS
    try:
        rule = parse_rule(kind, text.strip(), "chat")
    except RuleError as error:
        return str(error)
    by = f"{inbound.channel}:{inbound.user_id}"
    await levels.chats.add(levels.chat_of(session), kind, [rule.text], by=by)
    return N_(f"{kind}: {rule.text} applies in this chat.")


async def _remove(levels: RuleLevels, session: Session, text: str, trusted: bool) -> str:
    chat = levels.chat_of(session)
    stored = [one for one in await levels.chats.of(chat) if one.text == text]
    if not stored:
        return N_(f"This chat has no rule {text!r}. /permissions shows its rules.")
    if not trusted and any(one.kind != "allow" for one in stored):
        return ONLY_ADMINS
    await levels.chats.remove(chat, text)
    return N_(f"The rule {text} is removed.")
