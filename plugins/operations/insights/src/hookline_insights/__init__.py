"""Hookline plugin ``insights``: reports usage over the last days, from core's journal.

Reached by the entry point ``hookline_insights:Insights``; it brings the tool ``insights``, the
slash command ``/insights`` and the command ``hookline insights``.
"""

from .config import InsightsConfig
from .plugin import Insights

__all__ = ["Insights", "InsightsConfig"]
