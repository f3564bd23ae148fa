"""Plugin ``shared-files``: homes on one store keep the same notes, profiles and skills."""

from .plugin import SharedFiles

__all__ = ["SharedFiles"]
