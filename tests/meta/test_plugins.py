"""Every dist under ``plugins/`` is complete, and the standard set is what the defaults say."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import EntryPoint, entry_points, packages_distributions
from pathlib import Path

import pytest
import yaml
from hookline.cli.catalog import installed_commands
from hookline.plugins.discovery import OWN_GUARDS

from meta.tree import (
    CORE,
    PLUGINS,
    ROOT,
    Dist,
    Import,
    dists,
    imports_below,
    needed,
    normal,
    required,
    root_pyproject,
)

COMMON_HEADINGS = ("install", "config", "security")
PLUGIN_HEADINGS = (*COMMON_HEADINGS, "hooks", "tools")
CONTRACT_BRINGS = {"hookline", "pydantic"}
"""Dists a plugin may import because the contract is written with them."""
TEST_HELPERS = {"support"}
"""Packages of the repository's own ``tests`` folder."""
ALSO = {"postgres": {"postgresql"}}
"""Entry points beside a dist's own name: another scheme of a store's address."""


INSTALL = re.compile(
    r"pip install(?: -e)? \.((?: (?:-e )?\./plugins/[\w-]+/[\w-]+(?:\[[\w,]+\])?)+)"
)
"""An installation from the folders of a clone."""


def by_folder(dist: Dist) -> str:
    """A readable test id."""
    return dist.folder.name


every_dist = pytest.mark.parametrize("dist", dists(), ids=by_folder)


@every_dist
def test_dist_is_named_like_its_folder_and_entry_point(dist: Dist) -> None:
    assert dist.name == f"hookline-{dist.folder.name.removeprefix('lib-')}"
    assert dist.module in dist.modules
    for name in dist.modules:
        assert (dist.source / name / "py.typed").is_file()
    for name, (group, value) in dist.entry_points.items():
        also = {name} if group == "hookline.plugins" else ALSO.get(dist.folder.name, set())
        assert name in {dist.folder.name, *also}
        assert value.partition(":")[0].partition(".")[0] in dist.modules


@every_dist
def test_readme_has_the_required_headings(dist: Dist) -> None:
    text = (dist.folder / "README.md").read_text("utf-8")
    found = re.findall(r"^##+ (.*)$", text, re.MULTILINE)
    assert text.startswith(f"# {dist.name}\n")
    paragraph = text.partition("\n")[2].strip().partition("\n\n")[0]
    assert len(paragraph.split()) >= 8, "the first paragraph says what it is"
    wanted = PLUGIN_HEADINGS if dist.is_plugin else () if dist.is_library else COMMON_HEADINGS
    missing = [word for word in wanted if not any(word in text.lower() for text in found)]
    assert not missing, f"headings with these words are missing: {missing}"


@every_dist
def test_dist_has_tests(dist: Dist) -> None:
    functions = [
        node.name
        for file in (dist.folder / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert any(name.startswith("test_") for name in functions)


@every_dist
def test_dist_declares_what_it_imports(dist: Dist) -> None:
    undeclared = [
        found
        for found in imports_below(dist.source)
        if not _provided(found, dist.dependencies | CONTRACT_BRINGS, dist)
    ]
    assert not undeclared, "\n".join(["declare or do without:", *map(str, undeclared)])


@every_dist
def test_dist_tests_import_only_declared_dependencies(dist: Dist) -> None:
    tools = required(root_pyproject()["dependency-groups"]["dev"])
    undeclared = [
        found
        for found in imports_below(dist.folder / "tests")
        if found.top not in TEST_HELPERS
        and not _provided(found, dist.dependencies | CONTRACT_BRINGS | tools, dist)
    ]
    assert not undeclared, "\n".join(["declare or do without:", *map(str, undeclared)])


def _provided(found: Import, declared: set[str], dist: Dist) -> bool:
    if found.top in sys.stdlib_module_names or found.top in dist.modules:
        return True
    return bool(_owners().get(found.top, {normal(found.top)}) & declared)


@cache
def _owners() -> dict[str, set[str]]:
    """Import name to the dists that hold it; those of the workspace are installed in place."""
    installed = packages_distributions()
    owners = {name: {normal(dist) for dist in found} for name, found in installed.items()}
    owners |= {name: {normal(dist.name)} for dist in dists() for name in dist.modules}
    return owners | {"hookline": {"hookline"}, "hookline_hookspecs": {"hookline"}}


def test_standard_set_matches_the_defaults() -> None:
    defaults = yaml.safe_load((CORE / "config" / "defaults.yaml").read_text("utf-8"))
    drivers = {preset["driver"] for preset in defaults["presets"].values()} | {
        "scripted",
        "sqlite",
        "guards",
        "storage",
    }
    here = {file.parent.name for file in PLUGINS.glob("*/*/pyproject.toml")}
    standard = {f"hookline-{name}" for name in here & (drivers | set(defaults["standard"]))}
    extra = root_pyproject()["project"]["optional-dependencies"]["standard"]
    assert required(extra) == standard
    assert extra == sorted(extra)


def test_workspace_lists_every_dist_as_a_source() -> None:
    sources = root_pyproject()["tool"]["uv"]["sources"]
    assert {dist.name for dist in dists()} <= set(sources)


@pytest.mark.parametrize(
    "point", sorted(entry_points(group="hookline.commands")), ids=lambda point: point.name
)
def test_command_module_has_a_one_line_summary(point: EntryPoint) -> None:
    (entry,) = [one for one in installed_commands() if one.name == point.name]
    assert entry.summary.endswith(".")
    assert len(entry.summary) < 80
    assert entry.command().name == point.name.split()[-1]


@pytest.mark.parametrize(
    "page",
    [*PLUGINS.glob("*/*/README.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_documented_install_from_a_clone_names_every_dist_it_needs(page: Path) -> None:
    by_name = {dist.folder.name: dist for dist in dists()}
    for line in INSTALL.finditer(page.read_text("utf-8")):
        named = set(re.findall(r"\./plugins/[\w-]+/([\w-]+)", line[1]))
        wanted = {dist.folder.name for name in named for dist in needed(by_name[name])}
        assert named == wanted, line[0]


GUARD_HOOKS = ("on_message", "pre_tool", "pre_learn", "pre_read")


def test_safety_plugin_with_a_guard_stops_turns_if_it_fails_to_load() -> None:
    guards = {(one.name, one.value) for one in entry_points(group="hookline.guards")}
    for dist in dists():
        if dist.folder.parent.name == "safety":
            for one in entry_points(group="hookline.plugins", name=dist.folder.name):
                if any(hook in vars(one.load()) for hook in GUARD_HOOKS):
                    assert (one.name, one.value) in guards, f"{one.name}: see docs/authors/kinds"


def test_hookline_knows_the_guards_that_come_with_it_without_their_distributions() -> None:
    found = set[str]()
    for file in PLUGINS.glob("*/*/pyproject.toml"):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        found |= set(project.get("entry-points", {}).get("hookline.guards", {}))
    assert found == OWN_GUARDS
