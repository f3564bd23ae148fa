"""Isolates programs that a model starts from the machine. The entry point is :class:`Sandbox`.

``methods`` finds the method that works here, ``survey`` the parts of a workspace to hide,
``control_files`` puts back what a program changed in those that other programs follow,
``bubblewrap`` and ``confinement`` (Landlock) make the command line, ``proxy`` is the only way to a
network, and ``environment`` selects the variables that are passed.
"""

from __future__ import annotations

from .control_files import Kept, keep
from .environment import allowed, secrets_in, without_secrets
from .limits import Limits
from .methods import Found, Method, found
from .sandbox import Places, Sandbox

__all__ = [
    "Found",
    "Kept",
    "Limits",
    "Method",
    "Places",
    "Sandbox",
    "allowed",
    "found",
    "keep",
    "secrets_in",
    "without_secrets",
]
