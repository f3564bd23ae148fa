"""Hookline plugin ``web-ui``: the page in which people talk to the agent.

Reached by the entry point ``hookline_web_ui:WebUi``. :mod:`.plugin` is the plugin, :mod:`.page`
puts its parts together: :mod:`.hub` holds events and streams, :mod:`.live` the turns under way,
:mod:`.listening` makes events of signals, :mod:`.questions` asks people; :mod:`.reading`,
:mod:`.sending`, :mod:`.branching` and :mod:`.files` do what :mod:`.api` is asked for.
"""

from .plugin import WebUi, WebUiConfig

__all__ = ["WebUi", "WebUiConfig"]
