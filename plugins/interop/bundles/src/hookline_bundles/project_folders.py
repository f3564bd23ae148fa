"""Project folders: ``.claude`` and the like, in a workspace or the person's own folder."""

from __future__ import annotations

from pathlib import Path

from . import bundle_files
from .bundle import Bundle, InvalidBundle
from .bundle_files import OutsideBundle, Unreadable
from .folder_names import FOLDERS
from .formats import read_bundle
from .hook_files import HookReader
from .parts import PartReader
from .skills import SkillReader

PLUGIN_FOLDERS = (".agents/plugins",)
"""Folders whose subfolders are bundles."""
_COMMANDS = ("commands", "prompts")
_SETTINGS = ("settings.json", "settings.local.json", "hooks.json")


def read_project_folders(folder: Path, scope: str, data: Path) -> list[Bundle]:
    """Return what the project folders in ``folder`` hold; those with nothing are left out.

    Args:
        scope: ``project`` or ``user``, which the names of the bundles end in.
        data: the folder that holds a data folder for each of them.
    """
    found = [
        _read_folder(folder / name, f"{name[1:]}-{scope}", data)
        for name in FOLDERS
        if (folder / name).is_dir()
    ]
    return [bundle for bundle in found if not bundle.is_empty or bundle.problems] + [
        bundle for name in PLUGIN_FOLDERS for bundle in _read_plugins(folder / name, data)
    ]


def _read_folder(root: Path, name: str, data: Path) -> Bundle:
    root = root.resolve()
    skills, parts, hooks = SkillReader(root, strict=False), PartReader(root), HookReader()
    problems: list[str] = []
    if bundle_files.exists(root, "skills"):
        skills.read("skills")
    for place in _COMMANDS:
        if bundle_files.exists(root, place):
            parts.read_commands(place)
    if bundle_files.exists(root, "agents"):
        parts.read_agents("agents")
    parts.add_commands(skills.commands)
    for file in _SETTINGS:
        if bundle_files.exists(root, file):
            try:
                settings = bundle_files.read_json(root, file)
            except (OutsideBundle, Unreadable) as error:
                problems.append(f"{error}; its hooks are not used")
                continue
            found = settings.get("hooks") if isinstance(settings, dict) else None
            if found and settings.get("disableAllHooks") is not True:
                hooks.read({"hooks": found}, file)
    return Bundle(
        name,
        root,
        "folder",
        data / name,
        skills=tuple(skills.skills),
        commands=tuple(parts.commands),
        agents=tuple(parts.agents),
        hooks=tuple(hooks.hooks),
        problems=(*problems, *skills.problems, *parts.problems, *hooks.problems),
    )


def _read_plugins(folder: Path, data: Path) -> list[Bundle]:
    found: dict[str, Bundle] = {}
    for name in bundle_files.children(folder, ".") if folder.is_dir() else ():
        if name.startswith(".") or not (folder / name).is_dir():
            continue
        try:
            bundle = read_bundle(bundle_files.resolve(folder, name), data / name)
        except (InvalidBundle, OutsideBundle):
            continue
        found.setdefault(bundle.name, bundle)
    return list(found.values())
