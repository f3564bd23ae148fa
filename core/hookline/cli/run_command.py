"""``hookline run``."""

from __future__ import annotations

import asyncio
import getpass
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import (
    DONE,
    FAILED,
    INTERRUPTED,
    Stop,
    err,
    load_config,
    own_stdout,
    stop,
    with_runtime,
)

if TYPE_CHECKING:
    from hookline_hookspecs import Attachment

    from hookline.runtime import Runtime
    from hookline.sessions.state import ActiveTurn

REVIEW_SECONDS = 60.0
"""How long ``run`` waits for background work after the answer (CONTRACT)."""


def run(
    prompt: Annotated[str, typer.Argument(help="What to do; - reads it from stdin.")],
    session: Annotated[str | None, typer.Option(help="Continue or create this session.")] = None,
    model: Annotated[str | None, typer.Option(help="provider/model for this turn.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Grant what is asked, never Deny.")] = False,
    no_input: Annotated[bool, typer.Option("--no-input", help="Ask nobody.")] = False,
    image: Annotated[list[Path] | None, typer.Option(help="Attach a picture.")] = None,
    system: Annotated[str | None, typer.Option(help="System text for this turn only.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Events, one JSON object a line.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Leave reviews for later.")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Record it for hookline trace.")] = False,
) -> None:
    """Run one turn and print the answer."""
    from hookline.dispatch.commands import is_command
    from hookline.text import clean

    from .show_turn import JsonLines, Plain

    text = clean(sys.stdin.buffer.read().decode("utf-8", "replace") if prompt == "-" else prompt)
    show = JsonLines() if json else Plain()

    async def work(runtime: Runtime) -> int:
        from hookline_hookspecs import Inbound

        from hookline.clock import now
        from hookline.sessions.manager import new_session_id
        from hookline.text import new_id

        tell_plugins(runtime)
        if not is_command(text):
            runtime.engine.providers.check(runtime.engine.providers.default_model())
        show.connect(runtime)
        inbound = Inbound(
            channel="terminal",
            chat_id="default",
            user_id=getpass.getuser(),
            message_id=new_id(),
            text=text,
            attachments=attachments,
            received=now(),
            session_id=session or new_session_id(),
            system=clean(system) if system else None,
            model=model,
        )
        _stop_on_interrupt(runtime, inbound)
        turn = await runtime.dispatcher.submit(inbound, mode)
        show.finished(turn)
        await runtime.dispatcher.confirm(turn)
        if not no_wait:
            await runtime.finish_background(REVIEW_SECONDS)
        return _exit_code(turn)

    try:
        if not text.strip():
            stop("the prompt is empty; write what to do, or - to read it from stdin")
        if session is not None and not _good_id(session):
            stop("a session's id is 1 to 200 printable characters without a slash")
        attachments = tuple([_picture(path) for path in image or ()])
        asks_nobody = no_input or not sys.stdin.isatty() or prompt == "-"
        mode = "yes" if yes else "no" if asks_nobody else "ask"
        with own_stdout():
            loaded = load_config({"model": model, "trace": trace or None})
            raise SystemExit(with_runtime(work, loaded))
    except Stop as error:
        show.refused(error.text)
        raise


def tell_plugins(runtime: Runtime) -> None:
    """Warn of plugins that are not on although they should be, and of settings nobody knows."""
    for name, loading in runtime.plugins.loadings.items():
        if loading.state in ("failed", "missing"):
            err(f"hookline: warning: plugin {name} is not on: {loading.reason}")
        for warning in loading.warnings:
            err(f"hookline: warning: {warning}")


def _good_id(session: str) -> bool:
    return 0 < len(session) <= 200 and session.isprintable() and "/" not in session


def _exit_code(turn: ActiveTurn) -> int:
    if turn.outcome.stop == "stopped":
        return INTERRUPTED
    return FAILED if turn.outcome.stop in ("error", "max_iterations", "budget", "denied") else DONE


def _stop_on_interrupt(runtime: Runtime, inbound: Any) -> None:
    """The first Ctrl-C stops the turn cleanly; the next one ends the process."""
    import signal

    loop = asyncio.get_running_loop()
    main = asyncio.current_task()

    async def stop_turn() -> None:
        if not await runtime.dispatcher.stop_turn(inbound) and main is not None:
            main.cancel()

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        runtime.engine.background.start(stop_turn())

    with suppress(NotImplementedError, RuntimeError):
        loop.add_signal_handler(signal.SIGINT, interrupted)


def _picture(path: Path) -> Attachment:
    from hookline_hookspecs import Attachment

    try:
        head = path.open("rb").read(16)
    except OSError as error:
        stop(f"--image {path}: {error.strerror or error}")
    mime = picture_mime(head)
    if mime is None:
        stop(f"--image {path}: not a PNG, JPEG, GIF or WebP picture")
    return Attachment(path.resolve(), mime, path.name, path.stat().st_size)


_PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def picture_mime(head: bytes) -> str | None:
    """The type of a picture by its first bytes, or None."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _PICTURES.items() if head.startswith(start)), None)
