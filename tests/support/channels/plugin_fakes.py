"""The fakes of the channels' own tests, reused here."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PLUGINS = Path(__file__).parents[3] / "plugins"


def borrow(plugin: str, module: str) -> Any:
    """A module of ``plugins/PLUGIN/tests``, in a package of its own name."""
    package = f"_{plugin}_tests"
    if package not in sys.modules:
        made = ModuleType(package)
        made.__path__ = [str(next(PLUGINS.glob(f"*/{plugin}/tests")))]
        sys.modules[package] = made
    return import_module(f"{package}.{module}")


bot_api = borrow("telegram", "bot_api")
telegram = borrow("telegram", "conftest")
webhook = borrow("webhook", "conftest")
multimedia = borrow("multimedia", "conftest")
