"""Hookline plugin ``approvals``: answers the verdict Ask, from grants or by asking a person.

Reached by the entry point ``hookline_approvals:Approvals``. :mod:`.grants` remembers,
:mod:`.waiting` holds what is open, :mod:`.wording` is what a person reads and writes.

The plugin stands outside of all others that implement ``on_question``. What no grant covers it puts
to them itself (``ctx.ask``), so that it marks what they show and hears what they are told. Where
none of them answers, the question is written into the chat.
"""

from .plugin import Approvals, ApprovalsConfig

__all__ = ["Approvals", "ApprovalsConfig"]
