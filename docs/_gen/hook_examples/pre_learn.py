from dataclasses import replace

from hookline_hookspecs import Context, Deny, Lesson, Plugin, hookimpl


class Privacy(Plugin):
    """Lets no salary be remembered, and shortens what is long."""

    @hookimpl
    def pre_learn(self, ctx: Context, lesson: Lesson) -> Lesson | Deny | None:
        if "salary" in lesson.text.casefold():
            return Deny("salaries are not remembered")
        return replace(lesson, text=lesson.text[:500]) if len(lesson.text) > 500 else None
