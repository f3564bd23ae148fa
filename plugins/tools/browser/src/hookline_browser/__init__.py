"""Hookline plugin ``browser``: the agent uses web pages in a real browser.

Reached by the entry point ``hookline_browser:Browser``. :mod:`.tool_calls` handles a call,
:mod:`.engine` starts and stops Chromium, :mod:`.proxy` is its only connection to a network,
:mod:`.tab` is a session's page, :mod:`.actions` are those without approval,
:mod:`.outgoing_actions` those with it, :mod:`.snapshot` is what the model reads of a page.
Playwright is imported at the first call.
"""

from .config import BrowserConfig
from .plugin import Browser

__all__ = ["Browser", "BrowserConfig"]
