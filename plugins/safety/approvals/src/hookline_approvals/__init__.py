"""Hookline plugin ``approvals``: remembers what people approved, and lists and answers questions.

Reached by the entry point ``hookline_approvals:Approvals``. It provides the service
``ApprovalPolicy``; core asks the questions. :mod:`.grants` remembers, :mod:`.grant_list` and
:mod:`.question_list` are what the commands print.
"""

from .plugin import Approvals, ApprovalsConfig

__all__ = ["Approvals", "ApprovalsConfig"]
