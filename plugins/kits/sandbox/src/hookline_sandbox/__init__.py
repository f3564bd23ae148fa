"""Runs programs that a model starts apart from the machine. :class:`Sandbox` is the way in.

``methods`` finds what works here, ``survey`` what a workspace hides, ``bubblewrap`` and
``confinement`` (Landlock) make the command line, ``proxy`` is the only way to a network,
``environment`` says which variables are passed.
"""

from __future__ import annotations

from .environment import allowed, secrets_in
from .limits import Limits
from .methods import Found, Method, found
from .sandbox import Places, Sandbox

__all__ = ["Found", "Limits", "Method", "Places", "Sandbox", "allowed", "found", "secrets_in"]
