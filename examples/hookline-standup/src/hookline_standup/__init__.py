"""A team's stand-up notes: two tools, two commands, a reminder, a table and a job."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Annotated

from hookline_hookspecs import (
    Context,
    ContextBlock,
    Job,
    Plugin,
    ToolError,
    Turn,
    command,
    hookimpl,
    tool,
)
from pydantic import BaseModel, Field

SECONDS_PER_DAY = 24 * 60 * 60


class StandupConfig(BaseModel):
    """The settings under ``plugins: standup:`` in ``config.yaml``."""

    keep_days: int = Field(30, ge=1, le=3650, description="days after which notes are deleted")
    remind: bool = Field(True, description="remind the model of blockers from before today")
    max_chars: int = Field(500, ge=1, description="maximum characters of a note, and of a blocker")


class Standup(Plugin[StandupConfig]):
    """Stores stand-up notes by person and day. A chat sees only its own notes."""

    @tool(main_only=True)
    async def standup_note(self, ctx: Context, text: str, blocker: str = "") -> str:
        """Keep a person's stand-up note for today: what was done, what comes next.

        Args:
            text: the note, short, in the person's own words
            blocker: what is in the way, if anything
        """
        note = await self._checked(ctx, text)
        if not note:
            raise ToolError("the note is empty; put into text what was done")
        author = ctx.turn.inbound.user_id
        await self.host.storage.execute(
            "add",
            **_chat(ctx),
            author=author,
            day=self._day(),
            noted=self.host.now(),
            text=note,
            blocker=await self._checked(ctx, blocker),
        )
        return f"Noted for {author}."

    @tool(read_only=True)
    async def standup_report(self, ctx: Context, days: Annotated[int, Field(ge=1)] = 1) -> str:
        """Show this chat's stand-up notes, oldest first.

        Args:
            days: how many days, 1 = today
        """
        return await self._report(ctx, days)

    @command("/standup", audience="everyone")
    async def show(self, ctx: Context, args: str) -> str:
        """Show today's stand-up notes."""
        return await self._report(ctx, days=1)

    @command("/standup-clear", audience="operator")
    async def clear(self, ctx: Context, args: str) -> str:
        """Delete today's stand-up notes of this chat."""
        count = await self.host.storage.execute("clear_day", day=self._day(), **_chat(ctx))
        return f"Notes deleted: {count}."

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Remind the model of open blockers, once a day per session: each block costs tokens."""
        today, session = self._day(), ctx.stash.session
        if not self.config.remind or session.get("reminded") == today or turn.session.parent_id:
            return None
        rows = await self.host.storage.fetch("open_blockers", today=today, **_chat(ctx))
        if not rows:
            return None
        session["reminded"] = today
        return ContextBlock(
            "standup",
            "Open at the last stand-up. Ask whether they are solved when it fits.",
            items=tuple((f"{row['author']}, {row['day']}", row["blocker"]) for row in rows),
            item_tag="blocker",
        )

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Delete old notes once a day."""
        register(Job("standup-prune", self._prune, every=SECONDS_PER_DAY, at_start=True))

    async def _prune(self) -> None:
        oldest = self._day(ago=self.config.keep_days)
        deleted = await self.host.storage.execute("prune", oldest=oldest)
        self.log.info("deleted %d notes from before %s", deleted, oldest)

    async def _checked(self, ctx: Context, text: str) -> str:
        """Return ``text`` on one line, as the guard ``pre_learn`` returns it.

        Raises ``ToolError`` if it is too long, ``Refused`` if a plugin refuses it.
        """
        line = " ".join(text.split())
        if len(line) > self.config.max_chars:
            limit = self.config.max_chars
            raise ToolError(f"{len(line)} characters are too many; shorten it to {limit}")
        return await ctx.learn(line, source="standup_note", kind="note") if line else ""

    async def _report(self, ctx: Context, days: int) -> str:
        since = self._day(ago=min(days, self.config.keep_days) - 1)
        rows = await self.host.storage.fetch("notes_since", since=since, **_chat(ctx))
        lines = [
            f"{row['day']} {row['author']}: {row['text']}"
            + (f" (blocked: {row['blocker']})" if row["blocker"] else "")
            for row in rows
        ]
        return "\n".join(lines) or "No stand-up notes yet."

    def _day(self, ago: int = 0) -> str:
        """Return a local day such as ``2026-11-22``: today, or ``ago`` days earlier."""
        return (date.fromtimestamp(self.host.now()) - timedelta(days=ago)).isoformat()


def _chat(ctx: Context) -> dict[str, str]:
    """Return the parameters by which every query selects the current chat."""
    return {"channel": ctx.session.channel, "chat_id": ctx.session.chat_id}
