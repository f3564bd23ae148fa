"""The error of bad input; its text is a sentence a person can act on."""

from __future__ import annotations

from hookline_hookspecs import ToolError


class Complaint(ToolError):
    """What was asked cannot be done. A tool that raises it fails with this sentence."""
