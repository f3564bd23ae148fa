"""What ``hookline doctor`` finds out about the token."""

from __future__ import annotations

import asyncio

from hookline_channelkit import CannotStart
from hookline_hookspecs import CheckResult, HooklineError, Host

from .config import TelegramConfig, fault_of, token_of

SECONDS = 4.0
"""For the request; a check has 5 s in all."""


async def token_check(config: TelegramConfig, host: Host, *, offline: bool) -> CheckResult:
    """Telegram knows the token; ``offline``, it looks like one."""
    token = token_of(config, host)
    if (fault := fault_of(token)) is not None:
        return _failed(fault)
    if offline:
        return CheckResult(True, "the token looks like one; it is not tried offline")
    from .api import bot_of, close, understood

    bot = bot_of(token, config.base_url, config.base_file_url)
    try:
        with understood():
            user = await asyncio.wait_for(bot.get_me(), SECONDS)
    except CannotStart as error:
        return _failed(str(error))
    except (HooklineError, TimeoutError) as error:
        reason = str(error) or "no word from Telegram in time"
        return _failed(f"{reason}; look at the network and at telegram.base_url")
    finally:
        await close(bot)
    return CheckResult(True, f"the bot is @{user.username}")


def _failed(sentence: str) -> CheckResult:
    problem, _, fix = sentence.partition("; ")
    return CheckResult(False, problem, fix)
