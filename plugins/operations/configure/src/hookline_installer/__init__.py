"""``hookline plugins install`` and ``uninstall``, and a notice when recorded plugins are missing.

The commands are in ``commands``. When Hookline starts, only ``plugins.lock`` and the metadata of
the distributions in it are read.
"""

from .plugin import Installer

__all__ = ["Installer"]
