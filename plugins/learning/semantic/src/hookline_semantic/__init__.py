"""Hookline plugin ``semantic``: finds facts, skills, messages and tools by their meaning.

Provides :class:`~hookline_hookspecs.SemanticIndex`, from which plugins that search get a second
ranking. :mod:`.indexer` embeds texts in the background, :mod:`.vector_store` stores the vectors,
:mod:`.search` compares a query with them.
"""

from .plugin import Semantic

__all__ = ["Semantic"]
