from hookline_hookspecs import Context, Plugin, Question, hookimpl


class NoSurveys(Plugin):
    """Answers questions of the model that have a choice Skip; people get all others."""

    @hookimpl
    def on_question(self, ctx: Context, question: Question) -> str | None:
        if question.kind == "clarify" and "Skip" in question.choices:
            return "Skip"
        return None
