"""The READMEs of plugins list their settings, with defaults, and the hooks that they implement."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import Any

import pytest
from hookline_hookspecs import HOOKS, Plugin

from meta.tree import ROOT, Dist, dists, required, root_pyproject

PLUGINS = [dist for dist in dists() if dist.is_plugin]


def plugin_class(dist: Dist) -> type[Plugin[Any]]:
    """The class behind a plugin's entry point."""
    (name,) = dist.entry_points
    (point,) = entry_points(group="hookline.plugins", name=name)
    found: type[Plugin[Any]] = point.load()
    return found


def section(dist: Dist, heading: str) -> str:
    """The text of a README's first section whose heading begins with a word."""
    text = (dist.folder / "README.md").read_text("utf-8")
    found = re.search(rf"^## {heading}.*?\n+(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def settings(dist: Dist) -> dict[str, str]:
    """The rows of the first table below *Config*: key to the text of its default."""
    table = re.search(r"^\| key .*?(?=\n\n|\Z)", section(dist, "Config"), re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", table[0] if table else "", re.MULTILINE)
    return {key.partition(".")[0]: value for keys, value in rows for key in _names(keys)}


def _names(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


by_folder = pytest.mark.parametrize("dist", PLUGINS, ids=lambda dist: dist.folder.name)


@by_folder
def test_readme_lists_every_setting(dist: Dist) -> None:
    assert sorted(settings(dist)) == sorted(plugin_class(dist).config_class.model_fields)


@by_folder
def test_readme_gives_the_default_of_a_setting(dist: Dist) -> None:
    fields = plugin_class(dist).config_class.model_fields
    plain = {
        name: str(field.default).lower().removesuffix(".0")
        for name, field in fields.items()
        if isinstance(field.default, bool | int | float)
    }
    told = {name: value.replace("`", "").replace(",", "") for name, value in settings(dist).items()}
    assert {name: told[name] for name in plain if name in told} == plain


@by_folder
def test_readme_lists_the_hooks_in_use(dist: Dist) -> None:
    """The first paragraph below *Hooks* names them all; signals stand in a later one."""
    first = section(dist, "Hooks").strip().partition("\n\n")[0]
    kinds = [(kind := plugin_class(dist)), *kind.__subclasses__()]
    used = [hook for hook in HOOKS if any(_implements(kind, hook) for kind in kinds)]
    assert sorted(name for name in set(_names(first)) if name in HOOKS) == sorted(used)


def _implements(kind: type, hook: str) -> bool:
    return hasattr(getattr(kind, hook, None), "hookline_impl")


@pytest.mark.parametrize("group", sorted({dist.folder.parent.name for dist in PLUGINS} - {"kits"}))
def test_readme_of_the_repository_lists_the_plugins_of_a_group(group: str) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| {group} \| (.*)$", readme, re.MULTILINE)
    standard = required(root_pyproject()["project"]["optional-dependencies"]["standard"])
    here = [dist for dist in dists() if dist.folder.parent.name == group and not dist.is_library]
    on = [dist.folder.name for dist in here if dist.name in standard]
    off = [dist.folder.name for dist in here if dist.name not in standard]
    told = [re.findall(r"`([\w-]+)`", cell) for cell in row.split("|")[:2]]
    assert [sorted(names) for names in told] == [sorted(on), sorted(off)]
