"""Reads a shell command: which programs it starts, with which words, redirects and variables.

:func:`parse_command` is the entry. Nothing is run, looked up or expanded, and nothing is raised for
what a command says: whatever cannot be read is listed as unread.
"""

from .parser import MAX_COMMAND_CHARS, ParsedCommand, parse_command
from .simple_command import UNKNOWN, Redirect, SimpleCommand, Word

__all__ = [
    "MAX_COMMAND_CHARS",
    "UNKNOWN",
    "ParsedCommand",
    "Redirect",
    "SimpleCommand",
    "Word",
    "parse_command",
]
