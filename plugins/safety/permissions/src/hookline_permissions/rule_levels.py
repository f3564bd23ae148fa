"""The rules that apply to a turn: the person's, the project's, the chat's and the packaged ones."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from hookline_hookspecs import Context, Host, Session, StoreError

from .chat_rules import Chat, ChatRules, readable_rules
from .config import PermissionsConfig
from .packaged_rules import packaged_rules
from .project_rules import LoadedRules, ProjectRules, parse_rules
from .rule_set import RuleSet
from .rules import KINDS, Rule

USER_FILE = "config.yaml"
MAX_SESSIONS = 4_096
"""Sessions whose chat is remembered."""


class RuleLevels:
    """Collects the rules; those of config.yaml are read once."""

    def __init__(self, config: PermissionsConfig, host: Host) -> None:
        self.chats = ChatRules(host)
        self._projects = ProjectRules()
        self._user = self._read(config)
        self._of_session: OrderedDict[str, Chat] = OrderedDict()
        """The chats of sessions; a sub-agent's is that of its parent."""

    def _read(self, config: PermissionsConfig) -> LoadedRules:
        rules: list[Rule] = []
        errors: list[str] = []
        for kind in KINDS:
            found, wrong = parse_rules(kind, getattr(config, kind), USER_FILE, USER_FILE)
            rules += found
            errors += wrong
        serious = [one for one in errors if "plugins.permissions.allow" not in one]
        ignored = [one for one in errors if one not in serious]
        return LoadedRules(tuple(rules), tuple(serious), tuple(ignored))

    def begin(self, session: Session) -> None:
        """Remember for which chat a session works."""
        parent = self._of_session.get(session.parent_id or "")
        self._of_session[session.id] = parent or Chat(session.channel, session.chat_id, session.id)
        self._of_session.move_to_end(session.id)
        while len(self._of_session) > MAX_SESSIONS:
            self._of_session.popitem(last=False)

    def chat_of(self, session: Session) -> Chat:
        """The chat whose rules apply to a session; outside of any session, the chat itself."""
        if not session.id:
            return Chat(session.channel, session.chat_id)
        if session.id not in self._of_session:
            self.begin(session)
        return self._of_session[session.id]

    async def begin_turn(self, session: Session) -> None:
        """Read the chat's rules once, and again in this turn before something is changed."""
        chat = self.chat_of(session)
        with suppress(StoreError):  # a call is refused as long as they cannot be read
            await self.chats.of(chat, fresh=False)
        self.chats.expire(chat)

    def fixed(self, workspace: Path) -> LoadedRules:
        """The rules of the person and of the project, without those of a chat."""
        project = self._projects.of(workspace)
        return LoadedRules(
            (*self._user.rules, *project.rules),
            (*self._user.errors, *project.errors),
            (*self._user.warnings, *project.warnings),
        )

    async def of_turn(self, ctx: Context) -> tuple[RuleSet, tuple[str, ...]]:
        """The rules that apply to the calls of a turn, and why nothing may be changed."""
        fixed = self.fixed(ctx.paths.workspace)
        fresh = ctx.tool is None or not ctx.tool.read_only
        chat = self.chat_of(ctx.session)
        if not ctx.session.id:  # no turn has begun, so another process may have changed them
            self.chats.expire(chat)
        stored = readable_rules(await self.chats.of(chat, fresh=fresh))
        return rule_set([*fixed.rules, *stored]), fixed.errors


def rule_set(rules: list[Rule]) -> RuleSet:
    """Rules followed by the packaged ones."""
    return RuleSet([*rules, *(one.rule for one in packaged_rules())])
