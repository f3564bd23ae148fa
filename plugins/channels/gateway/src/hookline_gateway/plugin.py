"""Adds the gateway's command, and the authors and changes of messages."""

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
    Turn,
    hookimpl,
)
from hookline_hookspecs.gateway import GatewayCommand
from pydantic import BaseModel, Field

from .authors import strip_brackets, with_author
from .message_changes import MessageChanges

if TYPE_CHECKING:
    from filelock import BaseFileLock


UNREADABLE = "I can't read this kind of message ({}). Please send it as text or as a file."


class GatewayConfig(BaseModel):
    """How the gateway shuts down."""

    drain: float = Field(
        default=24.0,
        ge=0,
        le=3600,
        title="Time to finish (seconds)",
        description=(
            "Seconds that running turns get to finish when the gateway is stopped. It exits at "
            "most 5 seconds later."
        ),
    )


class Gateway(Plugin[GatewayConfig]):
    """Adds the commands, and holds the lock of the home while the gateway runs."""

    lock: BaseFileLock | None = None

    def __init__(self, config: GatewayConfig, host: Host) -> None:
        super().__init__(config, host)
        self._changes = MessageChanges(host)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the service ``GatewayCommand``."""
        host.services.provide(GatewayCommand, self)

    @hookimpl
    async def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | Deny | None:
        """Handle edits, deletions and reactions, and name the author where the model needs it."""
        if not any(one.network for one in self.host.channels() if one.name == inbound.channel):
            return None
        if (denial := await self._changes.note(inbound)) is not None:
            return denial
        if inbound.kind == "unreadable":
            return Deny(UNREADABLE.format(strip_brackets(inbound.text)))
        return with_author(inbound)

    @hookimpl
    async def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock | None:
        """Add notices of edits and reactions since the last turn."""
        if turn.session.kind != "chat" or turn.session.channel == "terminal":
            return None
        return await self._changes.notices(turn.session.channel, turn.session.chat_id)

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Check that the gateway of this home runs well, if one was started."""

        def check() -> CheckResult:
            from .health import health_check

            return health_check(self.host.home)

        register(Check("gateway", check))

    @hookimpl
    def teardown(self, host: Host) -> None:
        """Release the lock, now that no turn is running."""
        if self.lock is not None:
            self.lock.release()

    async def gateway(self, *, turns: bool = True, needs_model: bool = True) -> None:
        """Serve every enabled channel until SIGTERM or SIGINT."""
        from .shutdown import ShutdownSignals

        shutdown = ShutdownSignals(self.config.drain)
        shutdown.listen()
        await self.serve(shutdown.wait, turns=turns, needs_model=needs_model)
        # Exit at once: returning would wait for background work again.
        raise SystemExit(0)

    async def serve(
        self,
        ended: Callable[[], Awaitable[object]],
        *,
        turns: bool = True,
        needs_model: bool = True,
    ) -> None:
        """Serve every enabled channel until ``ended()`` returns, then drain.

        Without ``turns`` other processes run the turns; with ``needs_model`` one must be set up.

        The lock is held until the plugin is torn down, because work may go on until then. Raises
        ``SystemExit`` if the gateway cannot start, or if another one runs on this home.
        """
        from .serve import checked_channels, lock_home, serve

        channels = await checked_channels(self.host, turns=turns, needs_model=needs_model)
        self.lock = lock_home(self.host.home)
        await serve(self.host, channels, self.config.drain, ended, turns=turns)
