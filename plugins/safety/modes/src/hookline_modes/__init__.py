"""Hookline plugin ``modes``: how freely a session may act.

Reached by the entry point ``hookline_modes:SessionModes``. :mod:`.plugin` enforces the modes,
:mod:`.records` keeps them, :mod:`.switching` says who may switch, :mod:`.preview` shows what a call
would do, :mod:`.telling` is what the model and the person read.
"""

from .config import ModesConfig
from .plugin import SessionModes

__all__ = ["ModesConfig", "SessionModes"]
