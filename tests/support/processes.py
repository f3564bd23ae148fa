"""The environment that child processes of a test inherit."""

from __future__ import annotations

import os

_STORE = ("HOOKLINE_STORE", "HOOKLINE_TEST_STORE")


def store_environment() -> dict[str, str]:
    """Return the variables that name the store of this run (see :mod:`support.on_postgres`)."""
    return {name: os.environ[name] for name in _STORE if name in os.environ}
