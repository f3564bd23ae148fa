"""The command ``hookline gateway``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Protocol

import typer


class Run(Protocol):
    """Runs the gateway."""

    def __call__(self, *, turns: bool) -> Awaitable[None]: ...


def gateway_command(run: Run) -> Callable[..., Awaitable[None]]:
    """The command that calls ``run``."""

    async def gateway(
        no_turns: Annotated[
            bool, typer.Option("--no-turns", help="Receive, store and send; workers run the turns.")
        ] = False,
    ) -> None:
        """Serve every enabled channel until SIGTERM or SIGINT."""
        await run(turns=not no_turns)

    return gateway
