"""Hookline plugin ``profiles``: ``hookline profile create|list|use|export|delete``.

Reached by the entry point ``hookline_profiles:Profiles``. A profile is a home of its own in
``profiles/NAME`` of the home; core makes it the process's home for ``hookline -p NAME …``, or for
every command after ``hookline profile use NAME``.
:mod:`.profile_homes` manages the folders, :mod:`.commands` has the commands.
"""

from __future__ import annotations

from hookline_hookspecs import NoConfig, Plugin

__all__ = ["Profiles"]


class Profiles(Plugin[NoConfig]):
    """The commands are entry points; this plugin turns them on and off."""
