"""Has a voice message transcribed, so that its words become the message of the turn."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Audio, Context, HooklineError
from hookline_hookspecs.speech import Transcriber

from .config import VoiceConfig

NO_TRANSCRIBER = "no enabled plugin turns speech into text"


async def transcribe_voice_message(
    ctx: Context, audio: Audio, transcriber: Transcriber | None, config: VoiceConfig
) -> str | None:
    """Return the words of a voice message. Without words, notify the person why and return None."""
    if transcriber is None:
        ctx.notify(f"Voice messages are not understood: {NO_TRANSCRIBER}.")
        return None
    try:
        async with asyncio.timeout(config.timeout):
            words = await transcriber.transcribe(audio.path, language=config.language)
    except TimeoutError:
        ctx.notify(f"The voice message was not transcribed within {config.timeout:g} s.")
    except HooklineError as error:
        ctx.notify(str(error))
    else:
        if words.strip():
            return words.strip()
        ctx.notify("No words were heard in the voice message.")
    return None
