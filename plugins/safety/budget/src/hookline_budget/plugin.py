"""The plugin: checks the limits before each model call and counts the tokens of its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hookline_hookspecs import (
    Context,
    Host,
    ModelRequest,
    ModelResponse,
    OverBudget,
    Plugin,
    command,
    hookimpl,
)
from hookline_hookspecs.prices import Prices

from .config import BudgetConfig
from .ledger import ALL_CHATS, ChatKey, Ledger
from .state import BudgetState

CallNext = Callable[[ModelRequest], Awaitable[ModelResponse]]
SIGNAL = "budget"


class Budget(Plugin[BudgetConfig]):
    """Ends a turn once the day's budget of tokens is used up."""

    _ledger: Ledger

    @hookimpl
    def setup(self, host: Host) -> None:
        """Start with an empty ledger; the journal is read before the first call with a limit."""
        self._ledger = Ledger(lambda: host.storage, host.now)

    # Outermost: a refused call is not retried by another plugin, and every call is counted.
    @hookimpl(tryfirst=True)
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[[ModelRequest, CallNext], Awaitable[ModelResponse]] | None:
        """Refuse the call if a limit is reached. Auxiliary calls and sub-agents count too."""
        limits = self._limits(ctx)
        if not limits:
            return None
        chat = (ctx.session.channel, ctx.session.chat_id)

        async def call_within_budget(request: ModelRequest, call_next: CallNext) -> ModelResponse:
            for key, limit in limits.items():
                state = await self._ledger.check(key, limit)
                await self._send_signal(state)
                if state.over:
                    cost = await self._ledger.cost_today(key, Prices.of(ctx.host))
                    raise OverBudget(state.refusal(ctx.host.now(), cost))
            response = await call_next(request)
            self._ledger.add(chat, response.usage)
            if not ctx.session.id and chat[0]:
                await self._ledger.store_outside_sessions(chat, response.usage)
            for key, limit in limits.items():
                await self._send_signal(self._ledger.state(key, limit))
            return response

        return call_within_budget

    @command("/budget", audience="everyone", immediate=True, category="Model and safety")
    async def budget(self, ctx: Context, args: str) -> str:
        """Show what is left of today's budget."""
        lines = []
        for key, limit in self._limits(ctx).items():
            if key != ALL_CHATS or ctx.operator:
                state = await self._ledger.check(key, limit)
                cost = await self._ledger.cost_today(key, Prices.of(ctx.host))
                lines.append(state.line(ctx.host.now(), cost))
        return "\n".join(lines) or "This chat has no token limit."

    def _limits(self, ctx: Context) -> dict[ChatKey, int]:
        """The limits that apply to a chat, its own first."""
        channel, chat_id = ctx.session.channel, ctx.session.chat_id
        limits = {
            (channel, chat_id): self.config.chat_limit(channel),
            ALL_CHATS: self.config.total_limit(),
        }
        return {key: limit for key, limit in limits.items() if limit is not None}

    async def _send_signal(self, state: BudgetState) -> None:
        if await self._ledger.should_signal(state):
            self.host.signals.send(SIGNAL, state)
