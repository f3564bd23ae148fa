"""Searching the web: one interface, three services.

`choose` finds who searches; each service has a module of its own.
"""

from .choice import Choice, choose
from .results import Backend, Found

__all__ = ["Backend", "Choice", "Found", "choose"]
