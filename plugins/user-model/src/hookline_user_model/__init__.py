"""Hookline plugin ``user-model``: a short portrait of whom a chat is with, ``USER.md``.

Reached by the entry point ``hookline_user_model:UserModel``. :mod:`.portrait` is the text and its
parts, :mod:`.userfile` the file, :mod:`.versions` what it was before, :mod:`.curating` how it is
kept up.
"""

from .config import UserModelConfig
from .plugin import UserModel

__all__ = ["UserModel", "UserModelConfig"]
