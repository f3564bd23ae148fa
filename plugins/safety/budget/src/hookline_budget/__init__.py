"""Hookline plugin ``budget``: a cap of tokens per day, for each chat and in all.

Reached by the entry point ``hookline_budget:Budget``; it implements ``around_model`` and brings the
command ``/budget``. It sends the signal ``budget`` with a :class:`BudgetState`.
"""

from .config import BudgetConfig
from .plugin import Budget
from .state import BudgetState

__all__ = ["Budget", "BudgetConfig", "BudgetState"]
