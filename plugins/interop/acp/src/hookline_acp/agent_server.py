"""Serves one editor over stdin and stdout.

This module imports the SDK, so it is itself imported only by the running command.
"""

from __future__ import annotations

import logging
import sys

from acp.agent import AgentSideConnection
from hookline_hookspecs import Host, Inspection
from hookline_hookspecs.cli import run_until_signal

from .agent import EditorAgent
from .feed import EditorFeed
from .link import EditorLink
from .permission_requests import EditorQuestions
from .sessions import OpenSessions
from .stdio import StdioTransport
from .unsaved_changes import UnsavedChanges


async def serve(host: Host, descriptors: tuple[int, int], mode: str) -> None:
    """Serve an editor until it closes the first descriptor, or SIGTERM or SIGINT.

    Args:
        host: the plugin's host.
        descriptors: to read from and to write to.
        mode: the mode of new sessions; empty for the configured one.
    """
    for line in host.services[Inspection].plugin_problems():
        sys.stderr.write(f"hookline: warning: {line}\n")
    _log_to_file()
    pipes = StdioTransport(*descriptors)
    sessions = OpenSessions()
    feed = EditorFeed(host, pipes, sessions)
    agent = EditorAgent(host, pipes, feed, sessions, mode)
    pipes.ending = agent.stop_all
    connection = AgentSideConnection(
        lambda client: agent,  # type: ignore[arg-type, return-value]
        pipes,
        listening=False,
        use_unstable_protocol=True,  # for session/resume and session/close, which are stable now
    )
    link = host.services[EditorLink]
    link.feed = feed
    link.questions = agent.questions = EditorQuestions(connection, feed, sessions)
    link.sessions = sessions
    link.unsaved = agent.unsaved = UnsavedChanges(connection, sessions)
    for name, receiver in feed.receivers.items():
        host.signals.connect(name, receiver)
    try:
        await run_until_signal(connection.listen())
    finally:
        await connection.close()
        for name, receiver in feed.receivers.items():
            host.signals.disconnect(name, receiver)
        link.feed = link.questions = link.sessions = link.unsaved = None


def _log_to_file() -> None:
    """Send the SDK's log to Hookline's log instead of stderr."""
    root = logging.getLogger()
    if not root.handlers:
        root.handlers[:] = logging.getLogger("hookline").handlers or [logging.NullHandler()]
