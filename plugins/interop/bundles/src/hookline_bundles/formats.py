"""Reads a folder into a :class:`.bundle.Bundle`, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .agent_plugins import has_other_manifest, is_agent_plugin, read_agent_plugin
from .bundle import Bundle
from .claude_plugins import read_claude_plugin


def read_bundle(root: Path, data: Path, entry: Mapping[str, Any] | None = None) -> Bundle:
    """Read the bundle in ``root``.

    A folder may hold the manifests of several formats. Agent Plugins decide about its name, skills
    and servers then; the other manifest adds commands, agents and hooks, which they do not have.

    Args:
        data: the folder that its programs may write to.
        entry: its entry in a ``marketplace.json``.

    Raises:
        InvalidBundle: it is not a bundle that can be used.
    """
    root = root.resolve()
    if not is_agent_plugin(root):
        return read_claude_plugin(root, data, entry)
    portable = read_agent_plugin(root, data)
    if not has_other_manifest(root):
        return portable
    other = read_claude_plugin(root, data, entry)
    return replace(
        portable,
        commands=other.commands,
        agents=other.agents,
        hooks=other.hooks,
        problems=tuple(dict.fromkeys((*portable.problems, *other.problems))),
        ignored=other.ignored,
    )
