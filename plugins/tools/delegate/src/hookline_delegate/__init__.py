"""Hookline plugin ``delegate``: sub-agents with a fresh context, a budget and the same guards.

Reached by the entry point ``hookline_delegate:Delegate``. A sub-agent is a turn in its own session
(``host.run_turn``), so that every hook sees its calls. :mod:`.sub_agent` is a running one,
:mod:`.report` formats its task and its report.
"""

from .plugin import Delegate, DelegateConfig

__all__ = ["Delegate", "DelegateConfig"]
