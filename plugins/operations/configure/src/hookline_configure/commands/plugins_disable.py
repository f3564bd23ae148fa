"""Switch plugins off and keep their settings.

``hookline plugins disable``.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ..switches import disable_plugins

WORKS_WHEN_OFF = True


def disable(names: Annotated[list[str], typer.Argument(help="The plugins to switch off.")]) -> None:
    """Switch plugins off in config.yaml, keeping their settings."""
    disable_plugins(names)
