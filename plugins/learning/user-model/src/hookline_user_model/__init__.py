"""Hookline plugin ``user-model``: a short portrait of the person in a chat, ``USER.md``.

Reached by the entry point ``hookline_user_model:UserModel``. :mod:`.portrait` is the text and its
parts, :mod:`.userfile` the file, :mod:`.versions` its history, :mod:`.curating` its curation.
"""

from .config import UserModelConfig
from .plugin import UserModel

__all__ = ["UserModel", "UserModelConfig"]
