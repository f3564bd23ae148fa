from hookline_hookspecs import Context, Plugin, Session, hookimpl


class Archive(Plugin):
    """Writes the whole conversation to a file before it is shortened."""

    @hookimpl
    def pre_compact(self, ctx: Context, session: Session) -> None:
        lines = [f"{message.role}: {message.text}" for message in ctx.history]
        file = self.host.storage.dir / f"{session.id}.txt"
        file.write_text("\n".join(lines), "utf-8")
