"""The plugin: looks at the limits before each model call, and counts what the call has used."""

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
from .ledger import ALL, Key, Ledger
from .state import BudgetState

Call = Callable[[ModelRequest], Awaitable[ModelResponse]]
SIGNAL = "budget"


class Budget(Plugin[BudgetConfig]):
    """Ends a turn that would spend more than a day's budget."""

    _ledger: Ledger

    @hookimpl
    def setup(self, host: Host) -> None:
        """Begin with nothing; the journal is read before the first call that has a limit."""
        self._ledger = Ledger(lambda: host.storage, host.now)

    # Outermost, so that nothing asks again in vain and every call that was made is counted.
    @hookimpl(tryfirst=True)
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[[ModelRequest, Call], Awaitable[ModelResponse]] | None:
        """Refuse the call if a limit is reached; auxiliary calls and sub-agents' count too."""
        limits = self._limits(ctx)
        if not limits:
            return None
        key = (ctx.session.channel, ctx.session.chat_id)

        async def within(asked: ModelRequest, call_next: Call) -> ModelResponse:
            for one, limit in limits.items():
                state = await self._ledger.look(one, limit)
                await self._tell(state)
                if state.over:
                    paid = await self._ledger.paid(one, Prices.of(ctx.host))
                    raise OverBudget(state.refusal(ctx.host.now(), paid))
            response = await call_next(asked)
            self._ledger.add(key, response.usage)
            for one, limit in limits.items():
                await self._tell(self._ledger.state(one, limit))
            return response

        return within

    @command("/budget", audience="everyone", immediate=True, category="Model and safety")
    async def budget(self, ctx: Context, args: str) -> str:
        """Show what is left of today's budget."""
        lines = []
        for key, limit in self._limits(ctx).items():
            if key != ALL or ctx.operator:
                state = await self._ledger.look(key, limit)
                paid = await self._ledger.paid(key, Prices.of(ctx.host))
                lines.append(state.line(ctx.host.now(), paid))
        return "\n".join(lines) or "There is no limit of tokens here."

    def _limits(self, ctx: Context) -> dict[Key, int]:
        """The limits that hold for a chat, its own first."""
        channel, chat_id = ctx.session.channel, ctx.session.chat_id
        found = {(channel, chat_id): self.config.of_chat(channel), ALL: self.config.of_all()}
        return {key: limit for key, limit in found.items() if limit is not None}

    async def _tell(self, state: BudgetState) -> None:
        if await self._ledger.first_time(state):
            self.host.signals.send(SIGNAL, state)
