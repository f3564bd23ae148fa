"""Hookline plugin ``scheduler``: runs prompts at scheduled times, each in a session of its own.

Reached by the entry point ``hookline_scheduler:Scheduler``.
"""

from .config import SchedulerConfig
from .plugin import Scheduler

__all__ = ["Scheduler", "SchedulerConfig"]
