from hookline_hookspecs import Audio, Context, Plugin, hookimpl
from pydantic import BaseModel


class TranscriptsConfig(BaseModel):
    program: list[str] = ["whisper-cli", "--no-timestamps"]


class Transcripts(Plugin[TranscriptsConfig]):
    """Turns voice messages into text with a program on this machine."""

    @hookimpl
    async def on_voice(self, ctx: Context, audio: Audio) -> str | None:
        import asyncio

        process = await asyncio.create_subprocess_exec(
            *self.config.program, str(audio.path), stdout=asyncio.subprocess.PIPE
        )
        text, _ = await process.communicate()
        return text.decode().strip() or None  # None leaves it to the next plugin
