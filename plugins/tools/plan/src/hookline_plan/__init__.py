"""Hookline plugin ``plan``: a todo list that the model keeps and the person sees.

Reached by the entry point ``hookline_plan:Plans``. :mod:`.steps` reads and writes the steps.
"""

from .plugin import Plans

__all__ = ["Plans"]
