"""Hookline plugin ``backup``: ``hookline backup create|list|verify|restore``.

- :mod:`.contents`: which files of a home belong to a backup.
- :mod:`.archive`: writes and reads the archive.
- :mod:`.verification`: checks an archive and unpacks it.
- :mod:`.restore`: replaces a home with a restored one, and undoes that.
- :mod:`.held_work`: holds back open work, so that nothing is sent or run twice.
- :mod:`.commands`: the commands.
"""

from .plugin import Backup

__all__ = ["Backup"]
