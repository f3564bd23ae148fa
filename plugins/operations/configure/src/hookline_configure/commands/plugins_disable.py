"""Switch plugins off and keep their settings.

``hookline plugins disable``.
"""

from __future__ import annotations

from ..switches import disable_plugins

WORKS_WHEN_OFF = True


def disable(names: list[str]) -> None:
    """Switch plugins off in config.yaml, keeping their settings."""
    disable_plugins(names)
