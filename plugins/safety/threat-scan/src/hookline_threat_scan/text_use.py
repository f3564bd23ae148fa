"""How the model will use a text, which decides what is ordinary in it."""

from __future__ import annotations

from enum import Enum


class TextUse(Enum):
    """How the model uses a text."""

    GUIDANCE = "guidance"
    """To be followed or remembered: notes, skills, context files, hints."""
    PROGRAM = "program"
    """A script or page of a skill: guidance that ordinarily contains markup and tokens."""
    DATA = "data"
    """To be looked at: files, references, pages."""
    CODE = "code"
    """Source code of a program: data that ordinarily contains markup and tokens."""

    @property
    def is_followed(self) -> bool:
        """Whether the text tells the agent what to do."""
        return self in (TextUse.GUIDANCE, TextUse.PROGRAM)

    @property
    def is_source(self) -> bool:
        """Whether the text is a program or a page."""
        return self in (TextUse.PROGRAM, TextUse.CODE)
