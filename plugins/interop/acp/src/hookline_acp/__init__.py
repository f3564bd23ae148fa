"""Hookline plugin ``acp``: Hookline as the agent of an editor, by the Agent Client Protocol.

Reached by the entry point ``hookline_acp:Acp``. :mod:`.cli` is the command, :mod:`.serving` what it
runs, :mod:`.pipes` the lines over standard input and output, :mod:`.agent` the protocol's methods,
:mod:`.sessions` what is open, :mod:`.prompts` what an editor sends, :mod:`.feed` what it is told of
a turn, :mod:`.calls` how tool calls look, :mod:`.asking` questions to the person, :mod:`.replay` a
stored conversation, :mod:`.servers` the MCP servers that an editor passes, and
:mod:`.unsaved` what it has not saved.
"""

from __future__ import annotations

from .plugin import Acp

__all__ = ["Acp"]
