"""What all stores share: due migrations, text for full-text indexes, topics."""

from .fulltext import SEPARATOR, segmented
from .migrations import checksum, due
from .topics import Topics

__all__ = ["SEPARATOR", "Topics", "checksum", "due", "segmented"]
