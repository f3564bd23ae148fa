"""Services that other plugins use if the plugin that provides them is on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .host import Context
    from .inbound import Inbound
    from .messages import ToolCall
    from .questions import Question, QuestionAnswer, StoredQuestion
    from .turns import Session


@dataclass(frozen=True, slots=True)
class QuestionChat:
    """A chat in which a question is shown, and the user id of the person who is asked there."""

    channel: str
    chat_id: str
    person: str = ""


class Access(Protocol):
    """Who may do what on network channels. The plugin ``access`` provides it."""

    async def may_write(self, channel: str, user_id: str) -> bool:
        """Return whether messages from this person are accepted.

        A channel can use it to avoid fetching files of others. ``on_message``, which every message
        passes, still decides.
        """

    def is_operator(self, inbound: Inbound) -> bool:
        """Return True for a message from an admin in a private chat."""

    async def may_approve(self, channel: str, user_id: str) -> bool:
        """Return whether this person may approve what the agent wants to do."""
        return False

    async def may_answer(self, question: StoredQuestion, channel: str, user_id: str) -> bool:
        """Return whether this person may answer the question, at this moment."""
        return False

    async def chats_to_ask(self, question: StoredQuestion) -> Sequence[QuestionChat]:
        """Return the chats in which people who may answer the question can be asked.

        Empty if none can be reached.
        """
        return ()


class TextRedaction(Protocol):
    """Replaces secrets and personal data by placeholders. The plugin ``redact`` provides it."""

    def redact(self, text: str) -> str:
        """Return ``text`` with placeholders; the first call takes up to a second."""


class FormDialog(Protocol):
    """Shows a form whole, where otherwise each of its values is a question of its own. The plugin
    ``acp`` provides it."""

    async def fill(self, session_id: str, question: Question) -> str | None:
        """Return the values as a JSON object, or the choice of ``question`` that was made.

        None if the person behind this session cannot be shown a form.
        """
        return None


class ApprovalPolicy(Protocol):
    """What was approved before, and how long an approval may take. The plugin ``approvals``
    provides it; without it each call is asked about once."""

    expires: float
    """Seconds until an approval that was asked on a channel or the page expires."""

    async def granted(self, ctx: Context, question: Question) -> str | None:
        """Return the choice by which an earlier answer allows the call, or None."""
        return None

    async def scopes(self, ctx: Context, call: ToolCall) -> Sequence[str]:
        """Return the choices besides ``Allow once`` and ``Deny``, at most three."""
        return ()

    async def remember(self, ctx: Context, question: Question, answer: QuestionAnswer) -> None:
        """Store what a choice of :meth:`scopes` allows from now on."""


class ArtifactKeeper(Protocol):
    """Keeps large texts for the tool ``fetch_artifact``. The plugin ``artifacts`` provides it."""

    async def keep(self, ctx: Context, text: str) -> str:
        """Keep ``text`` for the chat of ``ctx`` and return its id; equal texts have the same id.

        Raises:
            StoreError: it could not be stored.
        """


class Checkpoints(Protocol):
    """Saves files so that a person can restore them. The plugin ``checkpoints`` provides it."""

    async def hold(self, ctx: Context, place: Path | None = None, *, history: bool = False) -> bool:
        """Save the session's workspace, or ``place``, a file or folder outside of it.

        Return True if every file that git tracks in the workspace is saved, or all of ``place``;
        with ``history``, only if the histories of the repositories there are kept too. False means
        that a change may lose something.
        """
        return False

    async def changes(self, ctx: Context) -> str:
        """Return what has changed since the last checkpoint of the chat, as text for a person."""
        return "Checkpoints are not available."


class ReasoningLevels(Protocol):
    """How much models think. The plugin ``reasoning`` provides it."""

    async def level(self, session: Session) -> str:
        """Return the level of a session, such as ``low``; empty if the model decides.

        A session whose id is empty is the next one of its chat.
        """
        return ""


class CommandSandbox(Protocol):
    """Whether commands are kept apart from the machine. The plugin ``shell`` provides it."""

    async def covers_operator(self) -> bool:
        """Return whether commands that the operator requests at the terminal are sandboxed."""
        return False

    async def is_offline(self, session_id: str) -> bool:
        """Return whether a person has cut off the commands of a session from the network."""
        return False

    async def put_offline(self, session_id: str, *, offline: bool) -> None:
        """Cut off the commands of a session from the network at once, also those that run in the
        sandbox, which end; or end that, so that the settings count again."""


class ToolServers(Protocol):
    """Offers the tools of a client's MCP servers to one session. The plugin ``mcp`` provides it."""

    def attach(self, session_id: str, servers: Sequence[Mapping[str, Any]]) -> list[str]:
        """Give a session these servers instead of its earlier ones, until this process ends.

        Return a sentence for each server that cannot be used. A server is an entry of an MCP
        client's ``mcpServers``, with its ``name``. A server that is not approved is started only
        after a person approves it. Sessions that began before the first servers were attached
        cannot use them.
        """
