"""Hookline plugin ``gateway``: ``hookline gateway`` runs every network channel until a signal.

Reached by the entry point ``hookline_gateway:Gateway``. :mod:`.serve` is the command's life,
:mod:`.channels` the channels in it, :mod:`.guarded` the question who may write, :mod:`.ending` what
a signal does, :mod:`.state` and :mod:`.notify` what others can see of it, and :mod:`.health` is
``hookline health``. :mod:`.authors` names who wrote what the model reads, :mod:`.buttons` knows
whose a question is, and :mod:`.news` what people do without writing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    ContextBlock,
    Deny,
    Host,
    Inbound,
    Plugin,
    Reply,
    Turn,
    hookimpl,
)
from hookline_hookspecs.gateway import GatewayCommand
from hookline_hookspecs.parts import is_command
from pydantic import BaseModel, Field

from .authors import named
from .buttons import Questions
from .news import News

if TYPE_CHECKING:
    from filelock import FileLock

__all__ = ["Gateway", "GatewayConfig"]


class GatewayConfig(BaseModel):
    """How the gateway ends."""

    drain: float = Field(
        default=24.0,
        ge=0,
        le=3600,
        description="Seconds that running turns and replies have after a signal. The process ends "
        "5 seconds later at the latest.",
    )


class Gateway(Plugin[GatewayConfig]):
    """Adds the commands, and holds the lock that keeps a second gateway away."""

    lock: FileLock | None = None

    def __init__(self, config: GatewayConfig, host: Host) -> None:
        super().__init__(config, host)
        self._questions = Questions(host)
        self._news = News(host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Hear what is shown to people, and which messages are done with."""
        host.services.provide(GatewayCommand, self)
        host.signals.connect("reply_sent", self._reply_sent)
        host.signals.connect("settled", self._settled)

    def _reply_sent(self, reply: Reply, ctx: Context | None = None) -> Awaitable[None] | None:
        return self._questions.shown(reply)

    def _settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        self._questions.settled(inbound)

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Know whom a question of this turn is put to, also after a restart."""
        if turn.session.kind == "chat" and turn.inbound.user_id:
            self._questions.wrote(turn.inbound, begins_turn=True)

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | Deny | None:
        """Name the author where a model needs to know it, and let a question be answered only by
        who was asked."""
        if not any(one.network for one in self.host.channels() if one.name == inbound.channel):
            return None
        self._questions.received(inbound)
        if (unsaid := await self._news.heard(inbound)) is not None:
            return unsaid
        read = inbound
        if inbound.forwarded or not is_command(inbound.text):
            answer = await self._questions.answered(inbound)
            if isinstance(answer, Deny):
                return answer
            read = answer or inbound
        read = named(read)
        self._questions.wrote(inbound, begins_turn=not is_command(read.text))
        return read

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Tell what people have changed and how they have reacted since the last turn."""
        if turn.session.kind != "chat" or turn.session.channel == "terminal":
            return None
        return await self._news.told(turn.session.channel, turn.session.chat_id)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check that the gateway of this home lives, if one was started."""

        def check() -> CheckResult:
            from .health import check_on

            return check_on(self.host.home)

        register(Check("gateway", check))

    @hookimpl
    def teardown(self, host: Host) -> None:
        """Free the home, now that no turn is under way any more."""
        if self.lock is not None:
            self.lock.release()

    async def gateway(self, *, turns: bool = True) -> None:
        """Run every channel that is on until SIGTERM or SIGINT."""
        from .ending import Ending

        ending = Ending(self.config.drain)
        ending.listen()
        await self.serve(ending.wait, turns=turns)
        # Said outright, because returning would wait for background work once more.
        raise SystemExit(0)

    async def serve(self, ended: Callable[[], Awaitable[object]], *, turns: bool = True) -> None:
        """Run every channel that is on until ``ended()`` returns, then drain; without ``turns``
        other processes work on the messages.

        The lock is kept until the plugin is torn down: work may be under way until then. Ends with
        ``SystemExit`` where the gateway cannot start, or another one runs on this home.
        """
        from .lock import alone
        from .serve import checked_channels, serve

        channels = await checked_channels(self.host, turns=turns)
        self.lock = alone(self.host.home)
        await serve(self.host, channels, self.config.drain, ended, turns=turns)
