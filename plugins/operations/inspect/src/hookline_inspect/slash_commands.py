"""The slash commands ``/status``, ``/sessions`` and ``/plugins``."""

from __future__ import annotations

from hookline_hookspecs import Context, Refused
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import code_span
from hookline_hookspecs.web import tn

from .plugin_listing import all_plugins
from .sessions import session_name
from .usage import cost, model_of

MAX_SESSIONS = 20
"""The maximum that ``/sessions`` shows."""


async def status(ctx: Context) -> str:
    """The session, whether a turn is running in it, its model, workspace and cost."""
    session = ctx.session
    doing = N_("a turn is running") if ctx.turn.id else N_("no turn is running")
    name = N_(f"Session {session.id}") if session.id else N_("New session")
    count = tn("{n} message", "{n} messages", len(ctx.history))
    model = model_of(ctx)
    lines = [
        " · ".join(filter(None, [name, code_span(session.title or ""), count, doing])),
        N_(f"Model: {model}") if model else N_("Model: none is configured"),
        N_(f"Workspace: {_workspace(ctx)}"),
        await cost(ctx.host, session.id),
    ]
    return "\n".join(filter(None, lines))


def _workspace(ctx: Context) -> str:
    try:
        return str(ctx.paths.workspace)
    except Refused:  # no path guard is available
        return ctx.host.config.workspace


async def sessions(ctx: Context) -> str:
    """The sessions of this chat, newest first, without those of sub-agents."""
    here = ctx.session
    chat = {"channel": here.channel, "chat_id": here.chat_id}
    rows = await ctx.host.storage.fetch("chat_sessions", **chat, limit=MAX_SESSIONS)
    lines = [
        " · ".join(filter(None, [row["id"], _turns(row["turns"]), code_span(session_name(row))]))
        for row in rows
        if row["turns"] or row["id"] == here.id
    ]
    if len(lines) > 1:
        lines.append(N_("Go back to one with /resume and the beginning of its id."))
    return "\n".join(lines) or N_("No sessions yet.")


def _turns(number: int) -> str:
    return tn("{n} turn", "{n} turns", number)


async def plugins(ctx: Context) -> str:
    """Every plugin that is on or named in config, with its state and the reason."""
    lines = []
    for row in await all_plugins(ctx.host):
        if row["state"] != "off" or "warnings" in row:  # config names it
            parts = (code_span(row["name"]), row["state"], row["reason"])
            lines.append(" · ".join(filter(None, parts)))
    return "\n".join(lines) or N_("No plugins are on.")
