"""Hookline plugin ``goals``: works on a goal turn after turn, within a budget.

Reached by the entry point ``hookline_goals:Goals``. :mod:`.plugin` has the commands and hooks,
:mod:`.goal_runner` runs the turns, :mod:`.goal_store` stores goals, :mod:`.goal_check` asks the
model whether one is reached, :mod:`.goal_text` has the texts for people and the model.
"""

from .config import GoalsConfig
from .plugin import Goals

__all__ = ["Goals", "GoalsConfig"]
