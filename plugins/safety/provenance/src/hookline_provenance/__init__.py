"""Hookline plugin ``provenance``: what came from outside asks before it outlives or leaves.

Reached by the entry point ``hookline_provenance:Provenance``. Core says where every text came from
(``ctx.origins``) and tools what a call may do (``ctx.effects``); this plugin decides what the one
means for the other. :mod:`.taint` judges origins, :mod:`.reach` addresses, :mod:`.writes` files;
:mod:`.proposals` keeps what nobody was there to approve.
"""

from .plugin import Provenance, ProvenanceConfig

__all__ = ["Provenance", "ProvenanceConfig"]
