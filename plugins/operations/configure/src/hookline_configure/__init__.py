"""Hookline plugin ``configure``: ``config``, ``plugins enable|disable`` and ``completion``.

- :mod:`.commands` and :mod:`.switches`: the commands.
- :mod:`.validation`: finds every error in config.yaml.
- :mod:`.config_file`: edits config.yaml and keeps its comments.
- :mod:`.config_watcher`: notices changes of config.yaml while a process runs.
- :mod:`.pages`: the plugins' pages and their settings forms.
- :mod:`.install_command`, :mod:`.source_clone`: which command installs a missing plugin.
- :mod:`.completion`: shell completion.
"""

from .plugin import Configure

__all__ = ["Configure"]
