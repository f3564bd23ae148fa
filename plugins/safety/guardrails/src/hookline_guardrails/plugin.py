"""The plugin: refuses repeated calls, and tells the model when it repeats itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from hookline_hookspecs import (
    Context,
    Deny,
    ModelRequest,
    ModelResponse,
    Plugin,
    TextBlock,
    ToolCall,
    ToolResult,
    hookimpl,
)

from .config import GuardrailsConfig
from .state import TurnState

SAME_RESULT_NOTE = (
    "this is the same result as before for the same arguments. Use it, change the arguments, or "
    "try another way."
)
FAILURE_NOTE = (
    "{name} has failed {count} times in a row. Find out why before you call it again, or try "
    "another way."
)
REPEATED = (
    "{name} was called {count} times with the same arguments within {window} calls. Use the "
    "results you have, change the arguments, or try another way"
)
STOPPED = (
    "{name} has failed {count} times in a row in an unattended turn, so no more tools run in it. "
    "Answer now: what was done, what failed, what is missing"
)
NO_VALID_CALL = (
    "The model wrote {count} tool calls in a row that could not be run, so no more tools run in "
    "this turn."
)
REPEATED_FOR_PEOPLE = (
    "{name} was called {count} times with the same arguments and did not run again."
)
STOPPED_FOR_PEOPLE = (
    "{name} failed {count} times in a row in an unattended turn, so no more tools run in it."
)


class Guardrails(Plugin[GuardrailsConfig]):
    """Stops a model that repeats itself."""

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        """Refuse every call of a stopped turn, and calls that are repeated too often."""
        state = _state(ctx)
        if self._has_only_invalid_calls(state):
            text = NO_VALID_CALL.format(count=state.longest_invalid_streak)
            return Deny(f"{text} Answer now", text)
        if self._is_stopped(ctx, state):
            values = {"name": state.failing_tool, "count": state.longest_streak}
            return Deny(STOPPED.format(**values), STOPPED_FOR_PEOPLE.format(**values))
        if not self.config.window or call.name in self.config.exempt:
            return None
        count = state.calls.count_equal(call, ctx.tool, self.config.window)
        if count <= self.config.repeats:
            return None
        reason = REPEATED.format(name=call.name, count=count, window=self.config.window)
        return Deny(reason, REPEATED_FOR_PEOPLE.format(name=call.name, count=count))

    # Innermost, so that it sees the whole result before another plugin cuts it.
    @hookimpl(tryfirst=True)
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Add a note if a result is the same as before, or if a tool keeps failing."""
        state, call = _state(ctx), result.call
        state.record_validity(invalid=result.invalid)
        if not result.ok and self._is_stopped(ctx, state):
            return None
        is_same = state.calls.finish(call, result.text, ctx.tool)
        failures = state.record_outcome(call.name, result.text, ok=result.ok)
        notes = []
        if is_same and ctx.tool is not None and ctx.tool.read_only:
            notes.append(SAME_RESULT_NOTE)
        if self.config.failures and failures >= self.config.failures:
            notes.append(FAILURE_NOTE.format(name=call.name, count=failures))
        return replace(result, notes=(*result.notes, *notes)) if notes else None

    @hookimpl
    def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Tell the model of a stopped turn not to call tools."""
        if request.purpose != "turn" or not self._is_stopped(ctx, _state(ctx)):
            return None
        return replace(request, params={**request.params, "tool_choice": "none"})

    @hookimpl
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[..., Awaitable[ModelResponse]] | None:
        """End the turn of a model whose calls cannot be run, which still writes them."""
        if request.purpose != "turn" or not self._has_only_invalid_calls(_state(ctx)):
            return None

        async def middleware(
            request: ModelRequest, call_next: Callable[[ModelRequest], Awaitable[ModelResponse]]
        ) -> ModelResponse:
            response = await call_next(request)
            if not response.message.tool_calls:
                return response
            blocks = tuple(b for b in response.blocks if not isinstance(b, ToolCall))
            if not response.text.strip():
                text = NO_VALID_CALL.format(count=_state(ctx).longest_invalid_streak)
                blocks = (*blocks, TextBlock(f"{text} Try another model with /model."))
            return replace(response, blocks=blocks, stop="end")

        return middleware

    def _has_only_invalid_calls(self, state: TurnState) -> bool:
        limit = self.config.hard_stop
        return bool(limit) and state.longest_invalid_streak >= limit

    def _is_stopped(self, ctx: Context, state: TurnState) -> bool:
        if self._has_only_invalid_calls(state):
            return True
        limit = self.config.hard_stop
        if not limit or state.longest_streak < limit:
            return False
        return not ctx.interactive or ctx.channel not in self.config.attended


def _state(ctx: Context) -> TurnState:
    state = ctx.stash.of(TurnState)
    state.catch_up(ctx.turn)
    return state
