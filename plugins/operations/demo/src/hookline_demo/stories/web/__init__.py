"""The story ``web``: the web page with sample conversations, until Ctrl+C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType

from ...process import ask, command, parsed, started
from ...screen import Screen
from ...stage import Stage
from ...turn import RECORDED_NOTICE, tell_failure
from .visitor import NoAnswer, Visitor

FIX = "The tests of this project fail. Find the cause and fix it."
TABLE = "What does shipping cost now, as a table?"
KEEP = "Remember: staging runs on ship-7.example, and I like reports as one line. Keep how we ship."
JOB = "Every weekday at 9:00, run the tests of the shop and tell me only if one fails."
RISK = "Install the linter."


def tell(stage: Stage, screen: Screen) -> bool:
    """Serve the page until it is interrupted; return False if that failed."""
    screen.say(RECORDED_NOTICE, "bold")
    screen.say()
    screen.say(f"folder  {stage.project}  (a copy; your own files and sessions are not touched)")
    _configure(stage)
    with _ending(), stage.log.open("wb") as log:
        options = {"stdout": subprocess.PIPE, "stderr": log, "start_new_session": True}
        with started(stage, command("web", "--json"), {}, **options) as process:
            try:
                _open(stage, screen, process)
            except NoAnswer as error:
                tell_failure([str(error), *_last_words(stage)], screen)
                return False
            return _served(stage, screen, process)


def _configure(stage: Stage) -> None:
    """Write a config whose page does not conflict with the reader's own."""
    words = f"scripted/{stage.words}"
    plugins = {
        # Any free port: another gateway may use the usual one.
        "web-server": {"listen": "127.0.0.1:0"},
        "web-ui": True,
        "gateway": {"drain": 1},
        **({"scheduler": True} if _has_schedule() else {}),
    }
    config = {
        "workspace": str(stage.project),
        "model": words,
        "auxiliary_model": words,
        "trace": True,
        "plugins": plugins,
    }
    (stage.home / "config.yaml").write_text(json.dumps(config, indent=2), "utf-8")


def _has_schedule() -> bool:
    return find_spec("hookline_scheduler") is not None


def _open(stage: Stage, screen: Screen, process: subprocess.Popen[bytes]) -> None:
    """Run the conversations, then show the link. Raises :class:`NoAnswer`."""
    assert process.stdout is not None
    first = parsed(process.stdout.readline())
    if first is None:
        process.wait()
        raise NoAnswer("the gateway did not start")
    screen.say("        adding a few sample conversations …", "dim")
    _converse(Visitor.by(first["url"]))
    link = ask(stage, "web", "--json")
    if not isinstance(link, dict):
        raise NoAnswer("no link was created")
    screen.say()
    screen.say("Open this in a browser on this machine; it works once, within 10 minutes:")
    screen.say()
    screen.write(f"  {link['url']}\n", "bold")
    screen.say()
    if stage.may_open and _browse(str(link["url"])):
        screen.say("A browser opens.")
    screen.say(f"One more link:  HOOKLINE_HOME={stage.home} hookline web")
    screen.say("The demo runs until Ctrl+C; then its folder is removed.")


def _converse(visitor: Visitor) -> None:
    """Run the conversations in parallel; the one that waits for a person comes last."""
    fix, keep = visitor.say(FIX), visitor.say(KEEP)
    single = [keep, visitor.say(JOB)] if _has_schedule() else [keep]
    visitor.answered(fix)
    visitor.say(TABLE, fix)
    visitor.answered(fix, 2)
    for session in single:
        visitor.answered(session)
    visitor.asked(visitor.say(RISK))
    visitor.log_out()


def _served(stage: Stage, screen: Screen, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the page is interrupted."""
    try:
        code = process.wait()
    except KeyboardInterrupt:
        screen.say()
        screen.say("The demo ends.")
        return True
    tell_failure([f"the gateway ended with exit code {code}", *_last_words(stage)], screen)
    return False


def _last_words(stage: Stage) -> list[str]:
    return stage.log.read_text("utf-8", "replace").strip().splitlines()[-3:]


@contextmanager
def _ending() -> Iterator[None]:
    """Turn signals that would end this process into Ctrl-C, so that everything is cleaned up."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    usual = {name: signal.signal(getattr(signal, name), interrupt) for name in names}
    try:
        yield
    finally:
        for name, handler in usual.items():
            signal.signal(getattr(signal, name), handler)


def _browse(url: str) -> bool:
    """Open a graphical browser; False if there is none."""
    if sys.platform.startswith("linux"):
        shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        if not shown or os.environ.get("SSH_CONNECTION"):
            return False
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False
