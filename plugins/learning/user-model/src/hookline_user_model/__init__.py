"""Hookline plugin ``user-model``: a short profile of the person in a chat, ``USER.md``.

:mod:`.profile` is the text and its parts, :mod:`.user_file` the file, :mod:`.profiles` stores
profiles and their versions, :mod:`.curator` updates them from new messages.
"""

from .config import UserModelConfig
from .plugin import UserModel

__all__ = ["UserModel", "UserModelConfig"]
