"""Hookline plugin ``goals``: goals that are worked on turn after turn, within a budget.

Reached by the entry point ``hookline_goals:Goals``. :mod:`.plugin` has the commands and hooks,
:mod:`.service` goes from turn to turn, :mod:`.records` stores goals, :mod:`.judge` asks whether one
is reached, :mod:`.wording` is what people and the model read.
"""

from .config import GoalsConfig
from .plugin import Goals

__all__ = ["Goals", "GoalsConfig"]
