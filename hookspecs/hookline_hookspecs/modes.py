"""The service :class:`Modes`: how freely a session may act.

The plugin ``permissions`` provides it.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

Mode: TypeAlias = Literal["ask", "auto", "plan", "yolo"]
"""``ask``: every call that changes anything asks. ``auto``: risky calls ask. ``plan``: calls that
change anything are denied. ``yolo``: nothing asks, and everything runs in the sandbox."""


class Modes(Protocol):
    """The mode of each session, which its sub-agents share."""

    async def get(self, session_id: str) -> Mode:
        """Return the mode of a session, or the default one if it is not stored yet."""

    async def set(self, session_id: str, mode: Mode) -> None:
        """Set the mode of a session, permanently. Raises ``CommandError`` with a sentence for a
        person if it cannot be used, such as ``yolo`` without a sandbox."""
