"""Hookline plugin ``skills``: procedures that are found, followed, learnt and kept in repair.

Reached by the entry point ``hookline_skills:Skills``. :mod:`.library` is what stands on disk,
:mod:`.matching` finds what fits a message, :mod:`.editing` is what the agent may change,
:mod:`.installing` brings skills of others.
"""

from .config import SkillsConfig
from .plugin import Skills

__all__ = ["Skills", "SkillsConfig"]
