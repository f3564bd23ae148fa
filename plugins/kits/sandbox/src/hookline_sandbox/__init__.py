"""Isolates programs that a model starts from the machine. The entry point is :class:`Sandbox`.

``methods`` finds the method that works here, ``survey`` the parts of a workspace to hide,
``bubblewrap`` and ``confinement`` (Landlock) make the command line, ``proxy`` is the only way to a
network, and ``environment`` selects the variables that are passed.
"""

from __future__ import annotations

from .environment import allowed, secrets_in
from .limits import Limits
from .methods import Found, Method, found
from .sandbox import Places, Sandbox

__all__ = ["Found", "Limits", "Method", "Places", "Sandbox", "allowed", "found", "secrets_in"]
