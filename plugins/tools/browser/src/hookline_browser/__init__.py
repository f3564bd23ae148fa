"""Hookline plugin ``browser``: the agent uses web pages in a real browser.

Reached by the entry point ``hookline_browser:Browser``. :mod:`.engine` starts and ends Chromium,
:mod:`.proxy` is its only way to a network, :mod:`.tab` is a session's page, :mod:`.acts` what may
be done on it, :mod:`.snapshot` what the model reads of it, :mod:`.deeds` what a person is asked.
Playwright is imported at the first call.
"""

from .config import BrowserConfig
from .plugin import Browser

__all__ = ["Browser", "BrowserConfig"]
