"""Hookline plugin ``skills``: procedures that the agent finds, follows, learns and repairs.

Reached by the entry point ``hookline_skills:Skills``. :mod:`.library` reads the skills on disk,
:mod:`.matching` finds those that match a message, :mod:`.editing` makes the agent's changes,
:mod:`.installing` installs other people's skills.
"""

from .config import SkillsConfig
from .plugin import Skills

__all__ = ["Skills", "SkillsConfig"]
