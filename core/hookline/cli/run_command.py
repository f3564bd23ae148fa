"""``hookline run``, ``chat`` and ``gateway``."""

from __future__ import annotations

import asyncio
import getpass
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import DONE, FAILED, INTERRUPTED, USAGE, Stop, err, load_config, stop, with_runtime

if TYPE_CHECKING:
    from hookline_hookspecs import Attachment

    from hookline.config import Loaded
    from hookline.runtime import Runtime
    from hookline.turn import Running

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
) -> None:
    """Run one turn and print the answer."""
    from hookline.text import clean

    from .show_turn import JsonLines, Plain

    text = clean(sys.stdin.buffer.read().decode("utf-8", "replace") if prompt == "-" else prompt)
    show = JsonLines() if json else Plain()
    try:
        if not text.strip():
            stop("the prompt is empty; write what to do, or - to read it from stdin")
        if session is not None and not _good_id(session):
            stop("a session's id is 1 to 200 printable characters without a slash")
        attachments = [_picture(path) for path in image or ()]
        loaded = load_config({"model": model})
        _check_model(loaded)
    except Stop as error:
        show.refused(error.text)
        raise
    mode = "yes" if yes else "no" if no_input or not sys.stdin.isatty() or prompt == "-" else "ask"

    async def work(runtime: Runtime) -> int:
        from hookline_hookspecs import Inbound

        from hookline.clock import now
        from hookline.journal import new_id
        from hookline.sessions import new_session_id

        show.connect(runtime)
        inbound = Inbound(
            channel="terminal",
            chat_id="default",
            user_id=getpass.getuser(),
            message_id=new_id(),
            text=text,
            attachments=tuple(attachments),
            received=now(),
            session_id=session or new_session_id(),
            system=clean(system) if system else None,
            model=model,
        )
        _stop_on_interrupt(runtime, inbound)
        running = await runtime.intake.submit(inbound, mode)
        show.finished(running)
        await runtime.intake.delivered(running)
        if not no_wait:
            await runtime.intake.finish_ends(REVIEW_SECONDS)
        return _exit_code(running)

    try:
        raise SystemExit(with_runtime(work, loaded))
    except Stop as error:
        show.refused(error.text)
        raise


def _good_id(session: str) -> bool:
    return 0 < len(session) <= 200 and session.isprintable() and "/" not in session


def _check_model(loaded: Loaded) -> None:
    """End with exit code 2 if no model can answer."""
    from hookline.config import ConfigError
    from hookline.providers import Providers

    providers = Providers(loaded)
    try:
        providers.check(providers.default_model())
    except ConfigError as error:
        stop(str(error))


def _exit_code(running: Running) -> int:
    if running.stop == "stopped":
        return INTERRUPTED
    return FAILED if running.stop in ("error", "max_iterations", "budget", "denied") else DONE


def _stop_on_interrupt(runtime: Runtime, inbound: Any) -> None:
    """The first Ctrl-C stops the turn cleanly; the next one ends the process."""
    import signal

    loop = asyncio.get_running_loop()
    main = asyncio.current_task()

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        if not runtime.intake.stop_turn(inbound) and main is not None:
            main.cancel()

    try:
        loop.add_signal_handler(signal.SIGINT, interrupted)
    except (NotImplementedError, RuntimeError):
        return


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


def picture_mime(head: bytes) -> str | None:
    """The type of a picture by its first bytes, or None."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None


def chat(
    session: Annotated[str | None, typer.Option(help="Continue or create this session.")] = None,
    model: Annotated[str | None, typer.Option(help="provider/model.")] = None,
) -> None:
    """Talk in the terminal."""
    loaded = load_config({"model": model})
    _check_model(loaded)

    async def work(runtime: Runtime) -> int:
        from hookline.sessions import new_session_id

        channel = runtime.channels.get("terminal")
        if channel is None:
            stop("chat needs the plugin terminal: pip install hookline-terminal")
        runtime.intake.chat_session = session or new_session_id()
        await channel.start()
        try:
            await channel.wait()
        finally:
            await channel.stop()
        await runtime.intake.finish_ends(REVIEW_SECONDS)
        err(f"Continue with: hookline chat --session {runtime.intake.chat_session}")
        return DONE

    raise SystemExit(with_runtime(work, loaded))


def gateway() -> None:
    """Run every channel that is on until a signal."""
    loaded = load_config()
    _check_model(loaded)

    async def work(runtime: Runtime) -> int:
        import signal

        channels = [c for c in runtime.channels if c.network]
        if not channels:
            stop("no channel is on; switch one on under plugins: in config.yaml", USAGE)
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        for channel in channels:
            await channel.start()
        err("ready")
        await runtime.intake.take_up()
        await ended.wait()
        for channel in channels:
            await channel.stop()
        await runtime.finish_background(30.0)
        return DONE

    raise SystemExit(with_runtime(work, loaded))


def result_line(running: Running) -> dict[str, Any]:
    """The fields of the last JSON line."""
    return {
        "text": running.reply,
        "usage": asdict(running.usage),
        "tool_calls": len(running.results),
        "stop": running.stop,
    }
