"""Finds facts, skills, messages and tools by what they mean, beside their words.

Offers :class:`~hookline_hookspecs.SemanticIndex`, which the plugins that search ask for a second
ranking. Vectors are made in the background and kept in the plugin's own table.
"""

from .plugin import Semantic

__all__ = ["Semantic"]
