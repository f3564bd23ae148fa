"""Hookline plugin ``acp``: serves editors over the Agent Client Protocol.

Reached by the entry point ``hookline_acp:Acp``. The command :mod:`.cli` runs :mod:`.agent_server`,
which connects :mod:`.agent` (the protocol's methods) to :mod:`.stdio`. :mod:`.prompts` reads
prompts, :mod:`.feed` sends updates, :mod:`.call_updates` renders tool calls, :mod:`.replay` renders
stored conversations, :mod:`.permission_requests` asks the person, :mod:`.mcp_servers` attaches the
editor's MCP servers, and :mod:`.unsaved_changes` compares files with the editor's buffers.
"""

from __future__ import annotations

from .plugin import Acp

__all__ = ["Acp"]
