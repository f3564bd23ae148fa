"""What the plugin's hooks reach of the agent, while it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .asking import Desk
    from .feed import Feed
    from .sessions import Open
    from .unsaved import Unsaved


class Link:
    """The parts of the agent; None in a process that serves no editor."""

    feed: Feed | None = None
    desk: Desk | None = None
    opened: Open | None = None
    unsaved: Unsaved | None = None
