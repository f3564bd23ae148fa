"""Loads the agent plugins of other agents, here called bundles, and hooks in any language.

``formats`` reads a folder into a :class:`.bundle.Bundle`, ``library`` says which bundles are used
now, ``hook_runner`` runs their hooks, and ``commands`` installs them.
"""

from .plugin import Bundles

__all__ = ["Bundles"]
