"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_session_search import SessionSearch


class TestSessionSearchContract(PluginContract):
    plugin = SessionSearch
