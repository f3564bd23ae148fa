"""The line below the prompt: model, mode, context size, cost, folder and what else is chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hookline_hookspecs import CommandSandbox, Context, Host, ModelResponse, Modes, Session, Usage
from hookline_hookspecs.file_origins import BackgroundCommands
from hookline_hookspecs.inspection import Inspection
from hookline_markdown import one_line, width_of
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .activity import plugin_view
from .config import StatusItem
from .workspace_place import branch_name, folder_name

DIM_STYLE = "class:dim"
_MODE_STYLES = {"ask": "class:good", "plan": "class:note", "yolo": "class:bad"}
_BETWEEN = " · "
FULL_SHARE = 80
"""Percent of the window from which the size of the context stands out."""


class StatusLine:
    """Follows one session; a turn in another one resets it.

    Args:
        host: the plugin's host.
        session: the session of the chat, if it has one yet.
        items: the parts to show, the most important first.
    """

    def __init__(self, host: Host, session: str | None, items: Sequence[StatusItem]) -> None:
        self._host = host
        self._session = session or ""
        self._items = items
        self._mode = ""
        self._is_sandboxed = False
        self._view: Context | None = None
        self._prompt = 0
        self._tokens = 0
        self._money: float | None = 0.0
        self._folder = ""
        self._branch = ""
        self.jobs = 0
        """Commands that run in the background, at the last :meth:`refresh`."""

    async def refresh(self) -> None:
        """Read what can change without a response: mode, sandbox, jobs, folder and branch."""
        sandbox = self._host.services.get(CommandSandbox)
        self._is_sandboxed = await sandbox.covers_operator() if sandbox is not None else False
        modes = self._host.services.get(Modes)
        self._mode = await modes.get(self._session) if modes and self._session else ""
        self.jobs = await self._count_jobs()
        folder = (self._view or self._host).paths.workspace
        self._folder, self._branch = await asyncio.to_thread(_place, folder)

    @property
    def session(self) -> Session | None:
        """The session that is followed; None before its first turn."""
        return self._view.session if self._view is not None else None

    async def _count_jobs(self) -> int:
        view = self._view
        if view is None:
            return 0
        found = self._host.services.all(BackgroundCommands)
        return sum([await one.count_running(view.session) for one in found])

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
        makers: Mapping[StatusItem, Callable[[], tuple[str, str]]] = {
            "model": lambda: (DIM_STYLE, self._model_name(max(12, width // 3))),
            "mode": lambda: (_MODE_STYLES.get(self._mode, DIM_STYLE), self._mode),
            "sandbox": lambda: (DIM_STYLE, "sandboxed" if self._is_sandboxed else ""),
            "context": self._context,
            "cost": lambda: (DIM_STYLE, self._cost() if self._tokens else ""),
            "jobs": lambda: ("class:note", _counted(self.jobs, "job")),
            "folder": lambda: (DIM_STYLE, self._folder),
            "branch": lambda: (DIM_STYLE, self._branch and f"({self._branch})"),
        }
        parts = [makers[item]() for item in dict.fromkeys(self._items)]
        return [(style, text) for style, text in parts if text]

    def _model_name(self, columns: int) -> str:
        model, _ = self._model()
        return one_line(model, columns) if model else ""

    def _context(self) -> tuple[str, str]:
        _, window = self._model()
        if not (self._prompt and window):
            return "", ""
        share = 100 * self._prompt / window
        style = "" if share >= FULL_SHARE else DIM_STYLE
        return style, f"{share:.0f}% of {_short(window)}"

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


def _place(folder: Path) -> tuple[str, str]:
    return folder_name(folder, Path("~").expanduser()), branch_name(folder)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}" if count else ""


def _short(count: int) -> str:
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 10_000 else f"{count / 1000:.0f}k"
