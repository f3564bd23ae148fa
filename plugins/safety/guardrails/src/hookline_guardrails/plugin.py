"""The plugin: refuses repeated calls, and tells the model when it goes in circles."""

from __future__ import annotations

from dataclasses import replace

from hookline_hookspecs import Context, Deny, ModelRequest, Plugin, ToolCall, ToolResult, hookimpl

from .config import GuardrailsConfig
from .state import TurnState

SAME = (
    "this is the same result as before for the same arguments. Use it, change the arguments, or "
    "try another way."
)
FAILING = (
    "{name} has failed {count} times in a row. Find out why before you call it again, or try "
    "another way."
)
CIRCLE = (
    "{name} was called {count} times with the same arguments within {window} calls. Use the "
    "results you have, change the arguments, or try another way"
)
STOPPED = (
    "{name} has failed {count} times in a row and nobody is watching, so no tool runs any more in "
    "this turn. Answer now: what was done, what failed, what is missing"
)
CIRCLE_SHOWN = "{name} was called {count} times with the same arguments, so it did not run again."
STOPPED_SHOWN = (
    "{name} has failed {count} times in a row and nobody is watching, so no tool runs any more."
)


class Guardrails(Plugin[GuardrailsConfig]):
    """Stops a model that goes in circles."""

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        """Refuse every call of a stopped turn, and a call that was repeated too often."""
        state = _state(ctx)
        if self._is_stopped(ctx, state):
            known = {"name": state.failing, "count": state.longest}
            return Deny(STOPPED.format(**known), STOPPED_SHOWN.format(**known))
        if not self.config.window or call.name in self.config.exempt:
            return None
        count = state.calls.repeats(call, ctx.tool, self.config.window)
        if count <= self.config.repeats:
            return None
        reason = CIRCLE.format(name=call.name, count=count, window=self.config.window)
        return Deny(reason, CIRCLE_SHOWN.format(name=call.name, count=count))

    # Innermost, so that it sees the whole result before another plugin cuts it.
    @hookimpl(tryfirst=True)
    def post_tool(self, ctx: Context, result: ToolResult) -> ToolResult | None:
        """Add a note if a result is nothing new, or if a tool keeps failing."""
        state, call = _state(ctx), result.call
        if not result.ok and self._is_stopped(ctx, state):
            return None
        same = state.calls.finished(call, result.text, ctx.tool)
        failures = state.count(call.name, result.text, ok=result.ok)
        notes = []
        if same and ctx.tool is not None and ctx.tool.read_only:
            notes.append(SAME)
        if self.config.failures and failures >= self.config.failures:
            notes.append(FAILING.format(name=call.name, count=failures))
        return replace(result, notes=(*result.notes, *notes)) if notes else None

    @hookimpl
    def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Tell the model of a stopped turn not to call tools."""
        if request.purpose != "turn" or not self._is_stopped(ctx, _state(ctx)):
            return None
        return replace(request, params={**request.params, "tool_choice": "none"})

    def _is_stopped(self, ctx: Context, state: TurnState) -> bool:
        limit = self.config.hard_stop
        if not limit or state.longest < limit:
            return False
        return not ctx.interactive or ctx.channel not in self.config.attended


def _state(ctx: Context) -> TurnState:
    state = ctx.stash.of(TurnState)
    state.catch_up(ctx.turn)
    return state
