"""``hookline chat``. Imported when the command line is built, because of Typer."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Coroutine
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import Host
from hookline_hookspecs.inspection import Inspection

if TYPE_CHECKING:
    from .channel import TerminalChannel

USAGE = 2


def chat_on(host: Host, channel: TerminalChannel) -> Callable[..., Coroutine[Any, Any, None]]:
    """The command, for this channel."""

    async def chat(
        session: Annotated[
            str | None, typer.Option(help="Continue or create this session.")
        ] = None,
        model: Annotated[str | None, typer.Option(help="provider/model.")] = None,
    ) -> None:
        """Talk in the terminal."""
        if session is not None and not _good_id(session):
            _tell("hookline: a session's id is 1 to 200 printable characters without a slash")
            raise SystemExit(USAGE)
        core = host.services[Inspection]
        core.check_model(core.default_model())
        for line in core.plugin_problems():
            _tell(f"hookline: warning: {line}")
        channel.session = session or f"{date.today():%Y%m%d}-{uuid.uuid4().hex[:8]}"
        await channel.start()
        try:
            await channel.wait()
        finally:
            await channel.stop()
        _tell(f"Continue with: hookline chat --session {channel.session}")

    return chat


def _good_id(session: str) -> bool:
    return 0 < len(session) <= 200 and session.isprintable() and "/" not in session


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
