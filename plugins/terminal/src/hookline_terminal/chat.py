"""``hookline chat``. Imported when the command line is built, because of Typer."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Coroutine
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from hookline_hookspecs import CommandError, Host, Modes
from hookline_hookspecs.inspection import Inspection

if TYPE_CHECKING:
    from hookline_hookspecs import Mode

    from .channel import TerminalChannel

USAGE = 2


def chat_on(host: Host, channel: TerminalChannel) -> Callable[..., Coroutine[Any, Any, None]]:
    """The command, for this channel."""

    async def chat(
        session: Annotated[
            str | None, typer.Option(help="Continue or create this session.")
        ] = None,
        model: Annotated[str | None, typer.Option(help="provider/model.")] = None,
        mode: Annotated[str | None, typer.Option(help="ask, auto, plan or yolo.")] = None,
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
        if mode is not None:
            await _choose_mode(host, channel.session, mode)
        await channel.start()
        try:
            await channel.wait()
        finally:
            await channel.stop()
        _tell(f"Continue with: hookline chat --session {channel.session}")

    return chat


async def _choose_mode(host: Host, session: str, mode: str) -> None:
    """Give the session its mode. Raises ``CommandError`` if it cannot have that."""
    modes = host.services.get(Modes)
    if modes is None:
        raise CommandError(
            "--mode needs the plugin modes, which is off; `hookline plugins enable modes` "
            "switches it on"
        )
    await modes.set(session, cast("Mode", mode))


def _good_id(session: str) -> bool:
    return 0 < len(session) <= 200 and session.isprintable() and "/" not in session


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
