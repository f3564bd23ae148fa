"""Hookline plugin ``skills``: procedures that the agent finds, follows, learns and repairs.

:mod:`.library` reads the skills on disk, :mod:`.matcher` finds those that match a message,
:mod:`.injector` adds them to the turn, :mod:`.editor` makes the agent's changes, :mod:`.installer`
installs other people's skills, :mod:`.team` shares skills with other homes.
"""

from .config import SkillsConfig
from .plugin import Skills

__all__ = ["Skills", "SkillsConfig"]
