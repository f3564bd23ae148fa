"""For whom a text is, which decides what in it is ordinary."""

from __future__ import annotations

from enum import Enum


class Audience(Enum):
    """What a text is for the model that reads it."""

    GUIDANCE = "guidance"
    """It is followed or remembered: notes, skills, context files, hints."""
    PROGRAM = "program"
    """A script or page of a skill: guidance in which markup and tokens are ordinary."""
    DATA = "data"
    """It is looked at: files, references, pages."""
    CODE = "code"
    """It is a program's source: data in which tokens and markup are ordinary."""

    @property
    def is_followed(self) -> bool:
        """True for what tells the agent what to do, in which a step is an order."""
        return self in (Audience.GUIDANCE, Audience.PROGRAM)

    @property
    def is_source(self) -> bool:
        """True for programs and pages."""
        return self in (Audience.PROGRAM, Audience.CODE)
