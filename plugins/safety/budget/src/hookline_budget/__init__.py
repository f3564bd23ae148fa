"""Hookline plugin ``budget``: limits the tokens used per day, by chat and in total.

The entry point is ``hookline_budget:Budget``. It implements ``around_model``, adds the command
``/budget`` and sends the signal ``budget`` with a :class:`BudgetState`.
"""

from .config import BudgetConfig
from .plugin import Budget
from .state import BudgetState

__all__ = ["Budget", "BudgetConfig", "BudgetState"]
