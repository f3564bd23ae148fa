"""The channel ``telegram``: the kit, over the wire to Telegram."""

from __future__ import annotations

from hookline_channelkit import Kit, KitOptions
from hookline_hookspecs import HooklineError, Host, Inbound

from .config import TelegramConfig
from .wire import TelegramWire


class TelegramChannel(Kit):
    """The channel ``telegram``."""

    name = "telegram"
    can = Kit.can | {"voice"}
    wire: TelegramWire

    def __init__(self, config: TelegramConfig, host: Host) -> None:
        options = KitOptions(stream=config.stream, keep_days=config.keep_days)
        super().__init__(host, TelegramWire(config, host), options)

    def passed(self, inbound: Inbound) -> None:
        """Nobody has refused this message. Was it a press, its buttons have done their work; and
        only now is its sender told of a file that was not taken."""
        if inbound.kind == "press" and inbound.reply_to:
            self.host.spawn(self.wire.unbutton(inbound.chat_id, inbound.reply_to), "buttons")
        if (problem := self.wire.problem_of(inbound.message_id)) is not None:
            self.host.spawn(self._tell(inbound.chat_id, problem), "tell")

    async def _tell(self, chat: str, problem: str) -> None:
        try:
            await self.wire.text(chat, problem, rich=False, reply_to=None, choices=())
        except HooklineError as error:
            self.host.log.warning("somebody could not be told of a file: %s", error)
