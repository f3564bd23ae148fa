"""What stores of every database do alike: migrations that are due, text for an index, topics."""

from .fulltext import SEPARATOR, segmented
from .migrations import checksum, due
from .topics import Topics

__all__ = ["SEPARATOR", "Topics", "checksum", "due", "segmented"]
