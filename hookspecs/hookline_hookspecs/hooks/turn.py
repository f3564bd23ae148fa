"""Hooks of a turn, from the message to the reply, in the order they fire."""

# Specs have no body, only a docstring.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from .kinds import MaybeAwaitable, spec

if TYPE_CHECKING:
    from ..host import Context
    from ..messages import ToolCall
    from ..prompt import ContextBlock
    from ..questions import Question, QuestionAnswer
    from ..replies import Reply
    from ..requests import ModelRequest, ModelResponse, WireRequest
    from ..tool_results import ToolResult
    from ..turns import Turn
    from ..verdicts import Continue, Verdict

    CallModel: TypeAlias = Callable[[ModelRequest], Awaitable[ModelResponse]]
    ModelMiddleware: TypeAlias = Callable[[ModelRequest, CallModel], Awaitable[ModelResponse]]
    CallTool: TypeAlias = Callable[[ToolCall], Awaitable[ToolResult]]
    ToolMiddleware: TypeAlias = Callable[[ToolCall, CallTool], Awaitable[ToolResult]]


class TurnHooks:
    """The same for every turn: streamed or not, nested, resumed or scheduled, on any channel."""

    @spec("observe", 10)
    def start_of_turn(self, ctx: Context, turn: Turn) -> MaybeAwaitable[None]:
        """When a turn begins, before any model call."""

    @spec("collect", 30)
    def pre_prompt(
        self, ctx: Context, turn: Turn
    ) -> MaybeAwaitable[ContextBlock | list[ContextBlock] | None]:
        """Once per turn: return context for this turn's user message.

        It is sent after the person's own text in one ``<context>`` element, escaped, and stored
        next to the message, not in it.
        """

    @spec("pipeline", 120)
    def pre_model(self, ctx: Context, request: ModelRequest) -> MaybeAwaitable[ModelRequest | None]:
        """Before each model call: change the provider-neutral request (compaction, settings)."""

    @spec("pipeline", 5)
    def pre_send(self, ctx: Context, wire: WireRequest) -> MaybeAwaitable[WireRequest | None]:
        """Before each send: change top-level fields, encoded message fragments or cache markers.

        Changing an old fragment is recorded as a break of the cached prefix by this plugin.
        """

    @spec("around", None)
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> MaybeAwaitable[ModelMiddleware | None]:
        """Return ``async def mw(request, call_next)`` around rendering, ``pre_send`` and sending.

        It may change the request (including its ``provider/model``), call ``call_next`` repeatedly,
        or answer itself.
        """

    @spec("observe", 10)
    def post_model(self, ctx: Context, response: ModelResponse) -> MaybeAwaitable[None]:
        """After each model response, once it is journalled; the last plugin is called first."""

    @spec("guard", 5)
    def pre_tool(self, ctx: Context, call: ToolCall) -> MaybeAwaitable[Verdict | None]:
        """Before each tool call: return ``Deny``, ``Ask``, ``Answer`` or None.

        All guards are called and the strictest verdict wins. A guard that fails denies the call.
        ``ctx.tool`` is the tool.
        """

    @spec("around", None)
    def around_tool(self, ctx: Context, call: ToolCall) -> MaybeAwaitable[ToolMiddleware | None]:
        """Return ``async def mw(call, call_next)`` around the execution of an allowed call.

        A changed call goes through ``pre_tool`` and approval again.
        """

    @spec("pipeline", 10)
    def post_tool(self, ctx: Context, result: ToolResult) -> MaybeAwaitable[ToolResult | None]:
        """After each tool call, including refused and failed ones; the last plugin is called first.

        ``replace(result, text=…)`` changes what the model reads; ``notes`` are appended last and
        never truncated.
        """

    @spec("collect", None)
    def post_answer(
        self, ctx: Context, turn: Turn
    ) -> MaybeAwaitable[Continue | list[Continue] | None]:
        """When the model has answered and the turn would end: return ``Continue`` to go on.

        The model reads the reason and is called again; ``turn.reply`` is the answer so far, and
        ``turn.continued`` counts how often the turn went on. It does so at most five times.
        """

    @spec("observe", None, background=True)
    def end_of_turn(self, ctx: Context, turn: Turn) -> MaybeAwaitable[None]:
        """After the reply was delivered, in the background: reviews, titles, statistics."""

    @spec("pipeline", 120)
    def pre_reply(self, ctx: Context, reply: Reply) -> MaybeAwaitable[Reply | None]:
        """Before the reply is stored for delivery: formatting, text to speech.

        If any plugin implements it, nothing is streamed, because text that was shown cannot be
        taken back. ``preserves_streaming = True`` declares that the plugin only adds text.
        """

    @spec("first", None, asks=True)
    def on_question(
        self, ctx: Context, question: Question
    ) -> MaybeAwaitable[str | QuestionAnswer | None]:
        """For a question to a person: return the answer, or None to leave it to other plugins.

        If a person can be asked, the question is already stored (``question.id``) and may be
        answered elsewhere; the call is then cancelled. If every plugin returns None, it is shown in
        the chats of those who may answer. The choices of an approval begin with ``Allow once`` and
        end with ``Deny``; an approval without an answer is refused.
        """
