from hookline_hookspecs import Context, Plugin, Section, Session, hookimpl
from pydantic import BaseModel


class ToneConfig(BaseModel):
    tone: str = "friendly"


class Tone(Plugin[ToneConfig]):
    """Says once per session how to answer."""

    @hookimpl
    def system_prompt(self, ctx: Context, session: Session) -> Section:
        return Section("guidance", f"Answer in a {self.config.tone} tone.")
