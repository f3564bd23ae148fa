"""The line below the prompt: model, mode, context size and cost of the session."""

from __future__ import annotations

from typing import Any

from hookline_hookspecs import CommandSandbox, Host, ModelResponse, Modes, Usage
from hookline_hookspecs.inspection import Inspection
from hookline_markdown import one_line, width_of
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .activity import plugin_view

DIM_STYLE = "fg:ansibrightblack"
_MODE_STYLES = {"ask": "fg:ansigreen", "plan": "fg:ansicyan", "yolo": "bold fg:ansired"}
_BETWEEN = " · "


class StatusLine:
    """Follows one session; a turn in another one resets it."""

    def __init__(self, host: Host, session: str | None) -> None:
        self._host = host
        self._session = session or ""
        self._mode = ""
        self._is_sandboxed = False
        self._view: Any = None
        self._prompt = 0
        self._tokens = 0
        self._money: float | None = 0.0

    async def refresh(self) -> None:
        """Read the mode of the session, and whether commands are sandboxed."""
        sandbox = self._host.services.get(CommandSandbox)
        self._is_sandboxed = await sandbox.covers_operator() if sandbox is not None else False
        modes = self._host.services.get(Modes)
        self._mode = await modes.get(self._session) if modes and self._session else ""

    def set_session(self, ctx: Any) -> None:
        """Follow the session of ``ctx``, if it has one yet."""
        view = plugin_view(ctx)
        if view is None or not view.session.id:
            return
        self._view = view
        if view.session.id != self._session:
            self._session = view.session.id
            self._prompt, self._tokens, self._money = 0, 0, 0.0

    def set_context_size(self, response: ModelResponse) -> None:
        """Take the size of the context from a response in the session itself."""
        self._prompt = response.usage.input + response.usage.output

    def reset_context_size(self) -> None:
        """Forget the size after a compaction; the next response has it."""
        self._prompt = 0

    def add_cost(self, model: str, usage: Usage) -> None:
        """Add the cost of a response in the session or one of its sub-agents."""
        from hookline_hookspecs.prices import Prices

        self._tokens += usage.input + usage.output
        cost = Prices.of(self._host).cost(model, usage) if model else None
        self._money = None if cost is None or self._money is None else self._money + cost

    def line(self, width: int) -> StyleAndTextTuples:
        """Return as many parts as fit into ``width`` columns."""
        parts: StyleAndTextTuples = []
        room = width - 1
        for style, text in self._parts(width):
            needed = width_of(text) + (len(_BETWEEN) if parts else 0)
            if needed > room:
                break
            parts += [(DIM_STYLE, _BETWEEN), (style, text)] if parts else [(style, text)]
            room -= needed
        return parts

    def _parts(self, width: int) -> list[tuple[str, str]]:
        model, window = self._model()
        parts = [(DIM_STYLE, one_line(model, max(12, width // 2)))] if model else []
        if self._mode:
            parts.append((_MODE_STYLES.get(self._mode, DIM_STYLE), self._mode))
        if self._is_sandboxed:
            parts.append((DIM_STYLE, "sandboxed"))
        if self._prompt and window:
            share = 100 * self._prompt / window
            parts.append(
                ("", f"{share:.0f}% of {_short(window)}")
                if share >= 80
                else (DIM_STYLE, f"{share:.0f}% of {_short(window)}")
            )
        if self._tokens:
            parts.append((DIM_STYLE, self._cost()))
        return parts

    def spent_here(self) -> str:
        """Return what the session cost in this process, for people; empty for nothing."""
        from hookline_hookspecs.prices import format_money

        if not self._tokens or self._money == 0:
            return ""
        return f"Cost: {format_money(self._money)} for {_short(self._tokens)} tokens"

    def _cost(self) -> str:
        from hookline_hookspecs.prices import format_money

        if self._money is None:
            return f"{_short(self._tokens)} tokens, cost unknown"
        return format_money(self._money)

    def _model(self) -> tuple[str, int]:
        try:
            if self._view is not None:
                return self._view.model, self._view.window()
            model = self._host.services[Inspection].default_model()
            return model, self._host.window(model)
        except Exception:  # config or environment are incomplete; the turn will report it
            return "", 0


def _short(count: int) -> str:
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 10_000 else f"{count / 1000:.0f}k"
