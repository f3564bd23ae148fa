"""The READMEs of plugins list their settings, with defaults, and the hooks that they implement."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import Any, NamedTuple

import pytest
import yaml
from hookline_hookspecs import HOOKS, Plugin

from meta.tree import CORE, ROOT, Dist, dists, required, root_pyproject


class Documented(NamedTuple):
    """A plugin and the README that documents it: its dist's, or a section of that."""

    name: str
    dist: Dist

    @property
    def text(self) -> str:
        """What its README says, with headings as in a README of its own."""
        text = (self.dist.folder / "README.md").read_text("utf-8")
        own, *others = re.split(r"^## (?=`[\w-]+`$)", text, flags=re.MULTILINE)
        if self.name == self.dist.folder.name:
            return own
        (found,) = [other for other in others if other.startswith(f"`{self.name}`\n")]
        return re.sub(r"^###", "##", found, flags=re.MULTILINE)

    @property
    def plugin_class(self) -> type[Plugin[Any]]:
        """The class behind its entry point."""
        (point,) = entry_points(group="hookline.plugins", name=self.name)
        found: type[Plugin[Any]] = point.load()
        return found

    def section(self, heading: str) -> str:
        """The text of the first section whose heading begins with a word."""
        pattern = rf"^## {heading}.*?\n+(.*?)(?=^## |\Z)"
        found = re.search(pattern, self.text, re.MULTILINE | re.DOTALL)
        return found[1] if found else ""

    @property
    def settings(self) -> dict[str, str]:
        """The rows of the first table below *Config*: key to the text of its default."""
        config = self.section("Config")
        table = re.search(r"^\| key .*?(?=\n\n|\Z)", config, re.MULTILINE | re.DOTALL)
        rows = re.findall(r"^\| (`.*?) \| (.*?) \|", table[0] if table else "", re.MULTILINE)
        return {key.partition(".")[0]: value for keys, value in rows for key in _names(keys)}


def _names(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


PLUGINS = [
    Documented(name, dist)
    for dist in dists()
    for name, (group, _) in dist.entry_points.items()
    if group == "hookline.plugins"
]
every_plugin = pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)


@every_plugin
def test_readme_lists_every_setting(plugin: Documented) -> None:
    assert sorted(plugin.settings) == sorted(plugin.plugin_class.config_class.model_fields)


@every_plugin
def test_readme_gives_the_default_of_a_setting(plugin: Documented) -> None:
    plain = {
        name: str(field.default).lower().removesuffix(".0")
        for name, field in plugin.plugin_class.config_class.model_fields.items()
        if isinstance(field.default, bool | int | float)
    }
    told = {
        name: value.replace("`", "").replace(",", "") for name, value in plugin.settings.items()
    }
    assert {name: told[name] for name in plain if name in told} == plain


@every_plugin
def test_readme_lists_the_hooks_in_use(plugin: Documented) -> None:
    """The first paragraph below *Hooks* names them all; signals follow in a later one."""
    first = plugin.section("Hooks").strip().partition("\n\n")[0]
    kinds = [(kind := plugin.plugin_class), *kind.__subclasses__()]
    used = [hook for hook in HOOKS if any(_implements(kind, hook) for kind in kinds)]
    assert sorted(name for name in set(_names(first)) if name in HOOKS) == sorted(used)


def _implements(kind: type, hook: str) -> bool:
    return hasattr(getattr(kind, hook, None), "hookline_impl")


@pytest.mark.parametrize("group", sorted({one.dist.folder.parent.name for one in PLUGINS}))
def test_readme_of_the_repository_lists_the_plugins_of_a_group(group: str) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| {group} \| (.*)$", readme, re.MULTILINE)
    defaults = yaml.safe_load((CORE / "config" / "defaults.yaml").read_text("utf-8"))
    packages = required(root_pyproject()["project"]["optional-dependencies"]["standard"])
    here = {
        name: dist.name in packages if kind != "hookline.plugins" else name in defaults["standard"]
        for dist in dists()
        if dist.folder.parent.name == group
        for name, (kind, _) in dist.entry_points.items()
        if kind == "hookline.plugins" or name == dist.folder.name
    }
    on = [name for name, is_on in here.items() if is_on]
    off = [name for name, is_on in here.items() if not is_on]
    told = [re.findall(r"`([\w-]+)`", cell) for cell in row.split("|")[:2]]
    assert [sorted(names) for names in told] == [sorted(on), sorted(off)]
