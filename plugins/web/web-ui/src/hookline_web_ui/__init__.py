"""Hookline plugin ``web-ui``: the web page for chatting with the agent.

Reached by the entry point ``hookline_web_ui:WebUi``. :mod:`.plugin` is the plugin, :mod:`.page`
creates the parts:

- events: :mod:`.signal_listener` makes them from signals, :mod:`.live_turns` follows running turns,
  :mod:`.event_hub` stores and distributes them, :mod:`.event_stream` sends them to a browser,
  :mod:`.remote_turns` is for turns in other processes;
- requests: :mod:`.api` has the routes, :mod:`.session_reader` reads sessions,
  :mod:`.message_sender` takes messages and answers, :mod:`.branch` and :mod:`.export` copy a
  session, :mod:`.files` has uploads, :mod:`.session_owner` decides who may see what;
- :mod:`.questions` asks people, :mod:`.front` and ``render*.py`` make the pages of views.
"""

from .plugin import WebUi, WebUiConfig

__all__ = ["WebUi", "WebUiConfig"]
