"""Hookline plugin ``run``: the command ``hookline run`` runs one turn and prints the answer.

Reached by the entry point ``hookline_run:Run``. :mod:`.command` is the command with its options,
:mod:`.turn` runs the turn, :mod:`.output` prints it, :mod:`.terminal_output` shows it on a terminal
as the chat does, :mod:`.stdin` reads piped input, :mod:`.images` the files of ``--image``,
:mod:`.answer_schema` is ``--output-schema``, and :mod:`.cost_limit` is ``--max-cost``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, ModelRequest, ModelResponse, NoConfig, Plugin, hookimpl

if TYPE_CHECKING:
    from .cost_limit import CostLimit

__all__ = ["Run"]

CallNext = Callable[[ModelRequest], Awaitable[ModelResponse]]


class Run(Plugin[NoConfig]):
    """Switches the command on and off; the command itself is an entry point."""

    cost_limit: CostLimit | None = None
    """Set by ``--max-cost``."""

    # Innermost: it sees the model that is really called, also a fallback model.
    @hookimpl(trylast=True)
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[[ModelRequest, CallNext], Awaitable[ModelResponse]] | None:
        """Refuse the call once the limit of ``--max-cost`` is reached."""
        return self.cost_limit.call if self.cost_limit is not None else None
