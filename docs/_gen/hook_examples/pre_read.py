from dataclasses import replace

from hookline_hookspecs import Context, Deny, Excerpt, Plugin, hookimpl


class Redactions(Plugin):
    """Hides a project's name from the model, and refuses files of the board."""

    @hookimpl
    def pre_read(self, ctx: Context, excerpt: Excerpt) -> Excerpt | Deny | None:
        if excerpt.source.endswith(".board"):
            return Deny("files of the board are not read")
        return replace(excerpt, text=excerpt.text.replace("Project Heron", "the project"))
